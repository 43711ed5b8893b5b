//! `Debug` and `Display` of leno's objects, written into a writer that misbehaves.
//!
//! A formatter calls its writer between any two pieces of text, so the writer may suspend, park, panic, or use the very
//! object that is written.

use std::fmt::{self, Debug, Display, Write};
use std::future::Future;
use std::sync::{Arc, Mutex as StdMutex, TryLockError};
use std::time::Duration;

use leno::channel::{
    Condition, Mutex, Receiver, Select, Semaphore, Sender, Shared, WaitGroup, join, shared,
};
use leno::explore;
use leno::flexible::synchroniser::{self, ReadWrite};
use leno::flexible::{self, AsyncMe, Flexible, Me, Threadless};
use leno::frame::Image;
use leno::io::memory::{Network, Socket, Stream};
use leno::kernel::dump::Depth;
use leno::kernel::policy::{Fifo, Recorded, Recording};
use leno::kernel::{self, Co, JoinHandle, LocalSystem, Options, Sink, System};
use leno::process;
use leno::session::{Query, Sessions};
use leno::{Builder, Coroutine, Suspender, ring};

use crate::area::{self, Act, frame};
use crate::bomb::Bomb;
use crate::canary::{Canary, Family};
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("show_coroutine", coroutine),
    ("show_scope", scope),
    ("show_scope", scope),
    ("show_ring", in_ring),
    ("show_list", list),
    ("show_local_system", local_system),
    ("show_kernel_scope", kernel_scope),
    ("show_system", system),
    ("show_recording", recording),
    ("show_channel", channel),
    ("show_lock", lock),
    ("show_select", select),
    ("show_flexible", flexible),
    ("show_me", me),
    ("show_failure", failure),
    ("show_synchroniser", synchroniser),
    ("show_process", process),
    ("show_monitor", monitor),
    ("show_explore_monitor", explore_monitor),
    ("explore_monitor", hot_or_cold),
    ("show_frames", frames),
    ("show_fibre", fibre),
    ("show_graph", graph),
    ("show_network", network),
    ("show_sessions", sessions),
];

/// A writer that runs a script, or waits, whenever something is written.
struct Ink<'a> {
    cx: &'a Cx<'a>,
    script: u8,
    /// How often it behaves before that.
    skips: u8,
    /// How often it does so.
    left: u8,
    /// Uses the object that is written.
    uses: &'a dyn Fn(),
}

impl Write for Ink<'_> {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        self.cx.check();
        if self.left == 0 || !world::has_fuel() {
            return Ok(());
        }
        if self.skips > 0 {
            self.skips -= 1;
            return Ok(());
        }
        self.left -= 1;
        if std::thread::panicking() {
            world::run_quietly(self.cx, self.script);
        } else if self.script % 3 == 0 {
            self.wait();
        } else if self.script % 3 == 1 && self.left == 1 {
            (self.uses)();
        } else {
            world::run(self.cx, self.script);
        }
        self.cx.check();
        if self.script % 16 == 7 { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Ink<'_> {
    /// Lets others run: those that use what is written here.
    fn wait(&self) {
        world::spend(1);
        if let Some(co) = self.cx.co {
            co.suspend(Bomb::new(self.script)).check();
        } else if kernel::can_park() {
            kernel::yield_now();
        } else {
            drop(ring::try_yield_now());
        }
    }
}

/// Writes the `Debug` of an object.
fn show(cx: &Cx<'_>, z: u8, what: &dyn Debug) {
    show_in_use(cx, z, what, &|| drop(format!("{what:?}")));
}

/// Writes the `Debug` of an object, which is used meanwhile.
fn show_in_use(cx: &Cx<'_>, z: u8, what: &dyn Debug, uses: &dyn Fn()) {
    let mut ink = Ink { cx, script: z, skips: z / 3 % 5, left: 1 + z % 3, uses };
    let _ = if z % 2 == 0 { write!(ink, "{what:?}") } else { write!(ink, "{what:#?}") };
}

/// Writes the `Display` of an object.
fn tell(cx: &Cx<'_>, z: u8, what: &dyn Display) {
    let uses = || drop(what.to_string());
    let mut ink = Ink { cx, script: z, skips: z / 3 % 5, left: 1 + z % 3, uses: &uses };
    let _ = write!(ink, "{what}");
}

fn coroutine(cx: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Some(co) = world::get::<Coroutine<Bomb, Bomb, Bomb>>(x) {
        show(cx, z, &*co);
        show(cx, z, &co.status());
        if let Err(error) = co.try_resume(Bomb::new(z)) {
            tell(cx, z, &error);
            show(cx, z, &error);
        }
    }
    if let Some(co) = cx.co {
        show(cx, z, co);
    }
}

/// A scope whose child writes it, and whose owner does.
fn scope(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (ground, family) = (Canary::new(), Family::default());
    let lent = Some(ground.lend());
    leno::scope(|s| {
        let (home, living) = (Home::here(), family.child());
        let body = move |co: &Suspender<Bomb, Bomb>, input: Bomb| {
            home.enter();
            let _living = living;
            input.check();
            let cx = Cx { co: Some(co), lent };
            show_in_use(&cx, z, s, &|| drop(s.coroutine(|_: &Suspender<(), ()>, ()| ())));
            cx.check();
            Bomb::new(z)
        };
        let made = s.coroutine_with(Builder::new().stack_size(128 << 10), body);
        if let Ok(child) = made {
            for turn in 0..1 + y % 3 {
                drop(child.try_resume(Bomb::new(z ^ turn)).map_err(|error| error.to_string()));
            }
            show(&Cx { lent, ..*cx }, z, &child);
            if x % 2 == 0 {
                std::mem::forget(child);
            }
        }
        if x % 4 == 0 {
            show(&Cx { lent, ..*cx }, z.wrapping_add(1), s);
        }
    });
}

fn in_ring(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (ground, family) = (Canary::new(), Family::default());
    let cx = Cx { co: None, lent: cx.lent.or(Some(ground.lend())) };
    ring::scope(|s| {
        for turn in 0..1 + x % 2 {
            let (home, living, ground) = (Home::here(), family.child(), ground.lend());
            s.spawn(move || {
                home.enter();
                let _living = living;
                show(&Cx { co: None, lent: Some(ground) }, z.wrapping_add(turn), &*s);
                ground.check();
            });
        }
        show(&cx, z, s);
        if y % 2 == 0 {
            ring::run();
        }
    });
    if let Some(member) = world::get::<ring::Member>(x) {
        show(&cx, z, &*member);
        tell(&cx, z, &*member);
    }
    show(&cx, z, &ring::members());
}

fn list(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    for info in leno::list::coroutines().into_iter().take(2) {
        if y % 2 == 0 { show(cx, z, &info) } else { tell(cx, z, &info) }
    }
    if y % 4 == 0 {
        tell(cx, z, &kernel::dump_all(Depth::States));
    }
}

fn local_system(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let system = world::get::<LocalSystem>(x).unwrap_or_else(|| world::put(x, LocalSystem::new()));
    match y % 4 {
        0 => show_in_use(cx, z, &*system, &|| drop(system.spawn(|| ()))),
        1 => tell(cx, z, &system.report()),
        2 => tell(cx, z, &system.dump(Depth::States)),
        _ => show(cx, z, &system.log()),
    }
    if let Some(sink) = world::get::<Sink>(x) {
        show(cx, z, &*sink);
    }
    if let Some(co) = world::get::<Co>(x) {
        tell(cx, z, &*co);
        let _ = kernel::attach(*co).map_err(|error| tell(cx, z, &error));
    }
}

/// A scope of the kernel and its handles, written by owner and child.
fn kernel_scope(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    if !kernel::can_park() {
        return;
    }
    let (ground, family) = (Canary::new(), Family::default());
    let lent = Some(ground.lend());
    let cx = Cx { lent, ..*cx };
    kernel::scope(|s| {
        let (home, living) = (Home::here(), family.child());
        let child = s.spawn_with(&Options::new().stack_size(128 << 10), move || {
            home.enter();
            let _living = living;
            show(&Cx { co: None, lent }, z, &*s);
            Bomb::new(z)
        });
        show(&cx, z, s);
        if let Ok(child) = child {
            show(&cx, z, &child);
            if y % 2 == 0 {
                std::mem::forget(child);
            }
        }
    });
}

fn system(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    if let Some(system) = world::shared::<System>(x) {
        match y % 3 {
            0 => show(cx, z, &*system),
            // Seldom: both wait a second for a core that is busy, such as one that runs the calling code.
            1 if z % 16 == 0 => show(cx, z, &system.report()),
            2 if z % 16 == 0 => tell(cx, z, &system.dump(Depth::States)),
            _ => {}
        }
    }
    if let Some(handle) = world::shared::<StdMutex<Option<JoinHandle<Bomb>>>>(x) {
        let taken = match handle.try_lock() {
            Ok(mut handle) => handle.take(),
            Err(TryLockError::Poisoned(handle)) => handle.into_inner().take(),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(handle) = taken {
            show(cx, z, &handle);
        }
    }
}

/// What a policy writes down is written while the policy goes on. One that waits for the reader is a hang.
fn recording(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    world::spend(5);
    let recording = Recording::new();
    let policy = Recorded::new(Fifo::new(), &recording);
    let system = LocalSystem::builder().policy(policy).build();
    for turn in 0..2 + y % 2 {
        let (home, recording) = (Home::here(), recording.clone());
        drop(system.spawn(move || {
            home.enter();
            kernel::yield_now();
            let uses = || drop((recording.log(), recording.take()));
            show_in_use(&Cx::default(), z.wrapping_add(turn), &recording, &uses);
            tell(&Cx::default(), z.wrapping_add(turn).wrapping_mul(3), &recording);
        }));
    }
    drop(world::quietly(|| system.run().map(drop)));
}

type Local = (Sender<Bomb>, Receiver<Bomb>);
type Both = (Sender<Bomb, Shared>, Receiver<Bomb, Shared>);

/// Returns a channel, a new one if there is none.
fn some_channel(x: u8) -> Arc<Both> {
    world::shared(x).unwrap_or_else(|| world::share(x, shared::bounded(1)))
}

fn channel(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let both = some_channel(x);
    let uses = || drop((both.0.try_send(Bomb::new(z)), both.1.try_recv()));
    show_in_use(cx, z, if y % 2 == 0 { &both.0 } else { &both.1 }, &uses);
    show(cx, z, &both.1.recv_async());
    show(cx, z, &both.0.send_async(Bomb::new(z)));
    show(cx, z, &both.1.try_iter());
    show(cx, z, &join((&both.1, &both.1)));
    if let Err(error) = both.0.try_send(Bomb::new(z)) {
        tell(cx, z, &error);
    }
    if let Some(local) = world::get::<Local>(x) {
        show(cx, z, &*local);
    }
}

fn lock(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let lock = world::shared::<Mutex<Bomb, Shared>>(x)
        .unwrap_or_else(|| world::share(x, Mutex::shared(Bomb::new(z))));
    show_in_use(cx, z, &*lock, &|| drop(lock.try_lock()));
    if let Ok(guard) = lock.try_lock() {
        show(cx, z, &guard);
        guard.check();
    }
    if let Some(semaphore) = world::shared::<Semaphore<Shared>>(x) {
        show(cx, z, &*semaphore);
        if let Ok(permit) = semaphore.acquire_timeout(Duration::ZERO) {
            show(cx, z, &permit);
        }
    }
    if let Some(condition) = world::shared::<Condition<Shared>>(y) {
        show(cx, z, &*condition);
    }
    if let Some(group) = world::shared::<WaitGroup<Shared>>(y) {
        show(cx, z, &(&*group, group.worker()));
    }
}

fn select(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let both = some_channel(x);
    let select = Select::new()
        .recv(&both.1, drop)
        .send(&both.0, Bomb::new(z), drop)
        .after(Duration::from_micros(50), || ());
    show(cx, z, &select);
    if y % 2 == 0 {
        let mut future = Box::pin(select.wait_async());
        let waker = crate::bomb::waker(z);
        let _ = future.as_mut().poll(&mut std::task::Context::from_waker(&waker));
        show(cx, z, &future);
    } else {
        let _ = select.wait().map_err(|error| tell(cx, z, &error));
    }
}

fn flexible(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    if let Some(co) = world::shared::<Flexible<Bomb, Bomb>>(x) {
        if y % 2 == 0 {
            show(cx, z, &*co)
        } else {
            tell(cx, z, &*co)
        }
        show(cx, z, &co.call_async(Bomb::new(z)));
        if let Err(error) = co.kick() {
            tell(cx, z, &error);
        }
    }
    if let Some(system) = world::shared::<Threadless>(x) {
        show(cx, z, &*system);
        tell(cx, z, &system.snapshot());
        for failure in system.failures() {
            show(cx, z, &failure);
            tell(cx, z, &failure);
        }
    }
    if let Some(system) = world::shared::<StdMutex<flexible::System>>(x)
        && let Ok(system) = system.try_lock()
    {
        show(&Cx::default(), 0, &*system);
    }
}

/// What a flexible coroutine has of itself, written by it. A table that waits for the writer is a hang.
fn me(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    world::spend(10);
    if y % 2 == 0 {
        let system = flexible::System::new();
        let made =
            system.coroutine("shown").stack_size(128 << 10).create(move |me: &mut Me<u32, u32>| {
                let uses = || drop(me.name());
                show_in_use(&Cx::default(), z, me, &uses);
                me.detach(1);
            });
        world::quietly(|| drop(made.call_timeout(1, Duration::from_millis(1))));
        world::quietly(|| made.state());
    } else {
        let system = Threadless::new();
        let made = system.create("shown", move |mut me: AsyncMe<u32, u32>| async move {
            show(&Cx::default(), z, &me);
            me.detach(1).await;
        });
        world::quietly(|| drop(made.call_timeout(1, Duration::from_millis(1))));
        world::quietly(|| made.state());
    }
}

/// What a call has failed with, written while it is written.
fn failure(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    world::spend(10);
    let system = flexible::System::builder().on_failure(|_| ()).build();
    let bad = system.coroutine("bad").stack_size(128 << 10);
    let bad = bad.create(move |_: &mut Me<u32, u32>| world::panic_hostile(z));
    if let Some(Err(error)) = world::quietly(|| bad.call_timeout(1, Duration::from_secs(1))) {
        let cx = Cx::default();
        tell(&cx, 1, &error);
        show(&cx, 4, &error);
    }
    world::quietly(|| drop(system));
}

fn synchroniser(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    type Objects = (ReadWrite<u32>, synchroniser::Semaphore, synchroniser::Monitor<u32>);
    let objects = world::shared::<(Threadless, Objects)>(x).unwrap_or_else(|| {
        let system = Threadless::new();
        let objects = (
            ReadWrite::new(&system, "shown", 1),
            synchroniser::Semaphore::new(&system, "shown", 1),
            synchroniser::Monitor::new(&system, "shown", 1),
        );
        world::share(x, (system, objects))
    });
    let (lock, semaphore, monitor) = &objects.1;
    match y % 4 {
        0 => show_in_use(cx, z, lock, &|| drop((lock.try_read(), lock.try_write()))),
        1 => show(cx, z, semaphore),
        2 => show(cx, z, monitor),
        _ => {
            if let Some(mut guard) = lock.try_write() {
                *guard += 1;
                show(cx, z, &guard);
            }
            if let Some(guard) = lock.try_read() {
                show(cx, z, &guard);
                show(cx, z, lock);
            }
        }
    }
}

fn process(cx: &Cx<'_>, x: u8, _: u8, z: u8) {
    area::process::show(x, z, |what| show(cx, z, what));
    if let Some(system) = world::shared::<StdMutex<Option<process::System>>>(x)
        && let Ok(system) = system.try_lock()
    {
        show(&Cx::default(), 0, &*system);
    }
}

/// A monitor whose value is shown, and entered meanwhile. Nothing hostile runs inside, so nobody waits there.
fn monitor(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let monitor = world::shared::<process::Monitor<Bomb>>(x)
        .unwrap_or_else(|| world::share(x, process::Monitor::new(Bomb::new(z))));
    if y % 2 == 0 {
        let uses = || _ = monitor.enter(|inside| inside.check());
        show_in_use(cx, z, &*monitor, &uses);
    } else {
        let _ = monitor.enter(|inside| inside.check());
    }
}

fn explore_monitor(cx: &Cx<'_>, x: u8, _: u8, z: u8) {
    let monitor = world::get::<explore::Monitor>(x)
        .unwrap_or_else(|| world::put(x, explore::Monitor::new("shown")));
    show_in_use(cx, z, &*monitor, &|| monitor.hot());
}

fn hot_or_cold(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(monitor) = world::get::<explore::Monitor>(x) {
        if y % 2 == 0 { monitor.hot() } else { monitor.cold() }
    }
}

fn frames(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    frame::with(x, |frames| {
        show(cx, z, frames);
        match frames.snapshot(frame::format(y)) {
            Ok(image) => show(cx, z, &image),
            Err(error) => {
                tell(cx, z, &error);
                show(cx, z, &error);
            }
        }
    });
    if let Some(image) = world::get::<Image>(x) {
        show(cx, z, &*image);
    }
    show(cx, z, &leno::frame::Shared::new(Bomb::new(z)));
}

fn fibre(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let home = Home::here();
    let ran = leno::fibre::Runner::new().run(move |cx| {
        home.enter();
        let (tx, rx) = leno::fibre::channel::<Bomb>();
        let own = home.clone();
        let fibre = cx.spawn(move |cx| {
            own.enter();
            show(&Cx::default(), z, cx);
            tx.write(cx, Bomb::new(z));
        });
        show(&Cx::default(), z, &fibre);
        show(&Cx::default(), z, &rx);
        if y % 2 == 0 {
            rx.read(cx).check();
        }
        show(&Cx::default(), z, &cx.look());
    });
    for zombie in ran.zombies() {
        tell(&Cx::default(), z, zombie);
    }
    drop(ran);
}

fn graph(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    let mut graph = leno::graph::Graph::deterministic().sequential();
    let (tx, rx) = graph.channel::<u32>(1);
    let home = Home::here();
    graph.node("shown", tx, move |node, tx| {
        home.enter();
        tx.send(node, 1);
        if y % 2 == 0 {
            world::run(&Cx::default(), z);
        }
    });
    let Ok(run) = graph.build() else { return };
    let outlet = run.outlet(rx);
    for _ in 0..2 {
        if let Err(halt) = outlet.checked_receive() {
            tell(cx, z, &halt);
            show(cx, z, &halt);
            break;
        }
    }
}

fn network(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    if let Some(stream) = world::shared::<Stream>(x) {
        show(cx, z, &*stream);
        show(cx, z, &stream.readable());
    }
    if let Some(socket) = world::shared::<Socket>(x) {
        show(cx, z, &*socket);
    }
    let network = world::shared::<Network>(x).unwrap_or_else(|| world::share(x, Network::new()));
    let host = network.host(format!("shown {y}"));
    show(cx, z, &host);
    show(cx, z, &*network);
    if let Ok(listener) = host.listen(80) {
        show(cx, z, &listener);
    }
}

fn sessions(cx: &Cx<'_>, x: u8, _: u8, z: u8) {
    let Some(sessions) = world::shared::<Sessions>(x) else { return };
    show(cx, z, &*sessions);
    tell(cx, z, &sessions.metrics());
    show(cx, z, &sessions.health());
    if let Ok(rows) = sessions.list(&Query::default()) {
        show(cx, z, &rows);
    }
}
