//! Coroutines made of frames, and their images.

use std::cell::RefCell;

use leno::frame::{Co, Format, Image, Options, Resumable, Shared, State, resumable};
use serde::{Deserialize, Serialize};

use crate::area::Act;
use crate::bomb::{Bomb, Hook};
use crate::canary::violation;
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("frame_start", start),
    ("frame_resume", resume),
    ("frame_resume", resume),
    ("snapshot", snapshot),
    ("snapshot", snapshot),
    ("restore", restore),
    ("snapshot_keeps", keeps),
    ("snapshot_shared", shared),
    ("snapshot_in_ring", in_ring),
    ("image_bytes", bytes),
    ("restore_recursive", recursive),
];

/// What is lent to a coroutine while it runs.
#[derive(Default)]
pub struct Lent(u32);

/// What these operations act on.
pub type Frames = Resumable<Bomb, Bomb, Bomb, Lent>;

#[resumable]
async fn outer(co: &mut Co<Bomb, Bomb, Lent>, plan: u8) -> Bomb {
    let held = Bomb::new(plan);
    let got = inner(co, plan.wrapping_add(1)).await;
    held.check();
    got.fire(Hook::Body);
    let last = co.suspend(Bomb::new(plan)).await;
    last.check();
    held.check();
    got
}

#[resumable]
async fn inner(co: &mut Co<Bomb, Bomb, Lent>, plan: u8) -> Bomb {
    let held = Bomb::new(plan);
    let got = co.suspend(Bomb::new(plan)).await;
    got.check();
    held.fire(Hook::Body);
    held
}

fn start(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    let (made, state) = Frames::start(&mut Lent::default(), outer, (z,));
    drop(state);
    world::put(x, RefCell::new(Some(made)));
}

/// Calls `f` with a coroutine that is taken out meanwhile, and puts it back.
pub fn with(x: u8, f: impl FnOnce(&mut Frames)) {
    let Some(place) = world::get::<RefCell<Option<Frames>>>(x) else { return };
    let taken = place.borrow_mut().take();
    if let Some(mut frames) = taken {
        f(&mut frames);
        drop(place.replace(Some(frames)));
    }
}

fn resume(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    with(x, |frames| {
        let mut lent = Lent(7);
        drop(frames.try_resume(&mut lent, Bomb::new(z)).map_err(|error| error.to_string()));
        if lent.0 != 7 {
            violation("what was lent to a coroutine was overwritten");
        }
    });
}

/// Returns one of the formats of images.
pub fn format(y: u8) -> Format {
    if y % 2 == 0 { Format::Json } else { Format::Postcard }
}

fn snapshot(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    with(x, |frames| match frames.snapshot(format(y)) {
        Ok(image) => drop(world::put(x, image)),
        Err(error) => drop(error.to_string()),
    });
}

fn restore(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    let Some(image) = world::get::<Image>(x) else { return };
    match Frames::restore(outer, &image, &Options::new()) {
        Ok(frames) => drop(world::put(x, RefCell::new(Some(frames)))),
        Err(error) => drop(error.to_string()),
    }
}

/// A snapshot that fails, in whatever way, leaves the coroutine as it was.
fn keeps(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let started = world::quietly(|| Frames::start(&mut Lent::default(), outer, (z,)).0);
    let Some(mut frames) = started else { return };
    let depth = frames.depth();
    world::quietly(|| drop(frames.snapshot(format(y)).map_err(|error| error.to_string())));
    if frames.depth() != depth || frames.is_poisoned() {
        violation("a snapshot that failed has changed its coroutine");
    }
    let gone_on = world::quietly(|| frames.try_resume(&mut Lent::default(), Bomb::new(0)).is_ok());
    if gone_on == Some(false) {
        violation("a coroutine cannot go on after a snapshot that failed");
    }
    drop(frames);
}

#[resumable]
async fn sharing(co: &mut Co<u32>, plan: u8) -> bool {
    let one = Shared::new("one".to_string());
    let slow = Bomb::new(plan);
    let two = Shared::new("two".to_string());
    let again = Bomb::new(plan);
    let same = one.clone();
    co.suspend(1).await;
    slow.check();
    again.check();
    one.same(&same) && !one.same(&two) && **one == *"one" && **two == *"two"
}

/// Shared values come back as they were, whatever other snapshots are taken meanwhile.
fn shared(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let (mut frames, _) = Resumable::<u32, (), bool>::start(&mut (), sharing, (z,));
    let Some(Ok(image)) = world::quietly(|| frames.snapshot(format(y))) else { return };
    let restored =
        world::quietly(|| Resumable::<u32, (), bool>::restore(sharing, &image, &Options::new()));
    match restored {
        Some(Ok(mut restored)) => {
            if let Some(State::Complete(false)) = world::quietly(|| restored.resume(&mut (), ())) {
                violation("shared values were mixed with those of another snapshot");
            }
        }
        Some(Err(error)) => {
            // Hostile code may call this with little of its stack left.
            let (error, allowed) = (error.to_string(), ["panicked", "use a larger `stack_size`"]);
            if !allowed.iter().any(|words| error.contains(words)) {
                violation(&format!("an image cannot be restored: {error}"));
            }
        }
        None => {}
    }
}

/// Two snapshots in members of a ring, so that a serialiser that yields starts the other.
fn in_ring(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let cx = Cx { co: None, lent: cx.lent };
    leno::ring::scope(|s| {
        for turn in 0..2 {
            let home = Home::here();
            s.spawn(move || {
                home.enter();
                world::quietly(|| shared(&cx, x, y, z.wrapping_add(turn)));
            });
        }
        leno::ring::run();
    });
}

/// Images whose bytes were changed, and nested ones, read in a coroutine.
fn bytes(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let mut bytes = match world::get::<Image>(x) {
        Some(image) => (*image).clone().into_bytes(),
        None => b"{\"frames\":[]}".to_vec(),
    };
    if y % 4 == 0 {
        let depth = 1 << (z % if cfg!(miri) { 5 } else { 13 });
        let nested = "[".repeat(depth) + &"]".repeat(depth);
        let start = r#"{"leno":1,"frames":[{"fn":"x","at":"y","locals":{"a":"#;
        bytes = format!("{start}{nested}}}}}]}}").into_bytes();
    } else if !bytes.is_empty() {
        let at = usize::from(z) % bytes.len();
        bytes[at] = bytes[at].wrapping_add(y);
    }
    let co = leno::Coroutine::<Vec<u8>, (), ()>::new(|_, bytes| {
        let Ok(image) = Image::from_bytes(bytes) else { return };
        drop(image.frames());
        drop(Frames::restore(outer, &image, &Options::new()));
    });
    let _ = co.resume(bytes);
}

/// A type that contains itself.
#[derive(Serialize, Deserialize)]
enum List {
    End(Bomb),
    More(Box<Wide>),
}

#[derive(Serialize, Deserialize)]
struct Wide {
    numbers: [u64; 8],
    text: Option<String>,
    next: List,
}

#[resumable]
async fn nesting(co: &mut Co<u32>, depth: u32, plan: u8) -> bool {
    let mut list = List::End(Bomb::new(plan));
    for _ in 0..depth {
        list = List::More(Box::new(Wide { numbers: [1; 8], text: None, next: list }));
    }
    co.suspend(1).await;
    matches!(list, List::More(_))
}

/// An image of a value that contains others of its type is restored, or refused, in a small coroutine.
fn recursive(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    type Nesting = Resumable<u32, (), bool>;
    let depth = 1 << (x % if cfg!(miri) { 3 } else { 8 });
    let make = move || {
        let (mut frames, _) = Nesting::start(&mut (), nesting, (depth, z));
        let image = world::quietly(|| frames.snapshot(format(y)).ok()).flatten();
        world::quietly(|| drop(frames));
        image
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(make);
    let Ok(Some(image)) = thread.expect("there are threads").join() else { return };
    let co = leno::Builder::new().stack_size((64 + usize::from(y % 128)) << 10).coroutine(
        move |_: &leno::Suspender<(), ()>, ()| {
            let Ok(image) = Image::from_bytes(image.into_bytes()) else { return };
            match Nesting::restore(nesting, &image, &Options::new()) {
                Ok(mut frames) => drop(frames.try_resume(&mut (), ()).map_err(|e| e.to_string())),
                Err(error) => drop(error.to_string()),
            }
        },
    );
    if let Ok(co) = co {
        let _ = co.resume(());
    }
}
