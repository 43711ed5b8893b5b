//! Coroutines, their locals, what lists and traces them; shared stacks are made by `unsafe` functions, so not here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use leno::{Builder, Coroutine, Local, Suspender};

use crate::area::Act;
use crate::bomb::Bomb;
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("coroutine", create),
    ("coroutine", create),
    ("resume", resume),
    ("resume", resume),
    ("resume", resume),
    ("try_resume", try_resume),
    ("coroutine_backtrace", backtrace),
    ("iterate", iterate),
    ("unstarted", unstarted),
    ("local", local),
    ("thread_end", thread_end),
    ("trace", trace),
    ("catches_exit", catches_exit),
];

type Co = Coroutine<Bomb, Bomb, Bomb>;

/// What a body does: it runs a script between its suspensions.
fn body(co: &Suspender<Bomb, Bomb>, input: &Bomb, y: u8, z: u8) -> Bomb {
    input.check();
    let held = Bomb::new(z.wrapping_add(1));
    let cx = Cx { co: Some(co), lent: None };
    for turn in 0..y % 4 {
        world::run(&cx, z.wrapping_add(turn));
        held.check();
        co.suspend(Bomb::new(z.wrapping_add(turn))).check();
    }
    world::caught(|| world::run(&cx, z));
    held.check();
    Bomb::new(z)
}

fn create(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (home, captured) = (Home::here(), Bomb::new(z.wrapping_mul(3)));
    let made = Builder::new().stack_size(128 << 10).coroutine(move |co, input: Bomb| {
        home.enter();
        captured.check();
        body(co, &input, y, z)
    });
    if let Ok(made) = made {
        world::put::<Co>(x, made);
    }
}

fn resume(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Some(co) = world::get::<Co>(x) {
        drop(co.resume(Bomb::new(z)));
    }
}

fn try_resume(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Some(co) = world::get::<Co>(x) {
        match co.try_resume(Bomb::new(z)) {
            Ok(step) => drop(step),
            Err(error) => {
                drop(error.to_string());
                error.into_input().check();
            }
        }
    }
}

fn backtrace(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(co) = world::get::<Co>(x) {
        drop(co.backtrace());
        let _ = (co.state(), co.status().state(), co.is_finished());
    }
}

fn iterate(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let home = Home::here();
    let made = Coroutine::<(), Bomb, Bomb>::new(move |co, ()| {
        home.enter();
        for turn in 0..y % 4 {
            co.suspend(Bomb::new(z.wrapping_add(turn)));
            world::run(&Cx::default(), z);
        }
        Bomb::new(z)
    });
    let made = world::put(x, made);
    made.iter().take(3).for_each(|bomb| bomb.check());
}

fn unstarted(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (home, captured) = (Home::here(), Bomb::new(z));
    let made = Builder::new().unstarted(move |co: &Suspender<Bomb, Bomb>, input: Bomb| {
        home.enter();
        captured.check();
        body(co, &input, y, z)
    });
    if y % 3 == 0 {
        drop(made.into_body());
    } else if let Ok(co) = made.start() {
        world::put::<Co>(x, co);
    }
}

fn first() -> Bomb {
    Bomb::new(201)
}

fn second() -> Bomb {
    world::run(&Cx::default(), 3);
    Bomb::new(77)
}

fn zero() -> std::cell::Cell<u32> {
    std::cell::Cell::new(0)
}

static FIRST: Local<Bomb> = Local::new(first);
static SECOND: Local<Bomb> = Local::new(second);
static ONE: Local<std::cell::Cell<u32>> = Local::new(zero);
static OTHER: Local<std::cell::Cell<u32>> = Local::new(zero);

fn local(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    match y % 4 {
        0 => FIRST.with(|bomb| {
            bomb.check();
            world::run(cx, z);
            bomb.check();
        }),
        1 => SECOND.with(Bomb::check),
        2 => {
            ONE.with(|one| one.set(5));
            if OTHER.with(std::cell::Cell::get) == 5 {
                crate::canary::violation("two locals share a value");
            }
        }
        _ => SECOND.with(|bomb| drop(bomb.clone())),
    }
}

/// A thread whose objects end with it, by the destructors of its thread-locals.
fn thread_end(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let thread = std::thread::spawn(move || {
        world::quietly(|| create(&Cx::default(), x, y, z));
        world::quietly(|| resume(&Cx::default(), x, y, z));
        world::quietly(|| world::run(&Cx::default(), z));
    });
    // Nobody can wait for a thread while it unwinds what it shares with this one.
    let _ = thread.join().map_err(std::mem::forget);
}

fn trace(cx: &Cx<'_>, _: u8, _: u8, z: u8) {
    let ((), text) = leno::trace::record(|| world::run(cx, z));
    drop(text);
}

/// A value whose `Drop` looks at all coroutines.
struct Looks(u8);

impl Drop for Looks {
    fn drop(&mut self) {
        for info in leno::list::coroutines() {
            drop((info.backtrace(), format!("{info:?}")));
        }
        world::run_quietly(&Cx::default(), self.0);
    }
}

/// One that catches its exit and returns, while its handle is dropped.
fn catches_exit(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    world::spend(20);
    let home = Home::here();
    let made = Builder::new().stack_size(128 << 10).coroutine(move |co, ()| {
        home.enter();
        let held = Bomb::new(z);
        let _ = catch_unwind(AssertUnwindSafe(|| co.suspend(Looks(y))));
        held.check();
        drop(format!("{:?}", [z; 64]));
        Looks(z)
    });
    if let Ok(co) = made {
        drop(co.resume(()));
        drop(co);
    }
}
