//! Foreign exits: the payload of a coroutine's exit, caught, kept, and raised again by other code.
//!
//! To all but the coroutine that it belongs to, it is a panic like any other. So the operations that end with a check
//! look whether someone has taken it for an own one: a system that stops, a worker that ends, a process that is not
//! begun again.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use leno::flexible::{self, AsyncMe, Flexible, Me, Threadless};
use leno::frame::{self, resumable};
use leno::graph::Graph;
use leno::kernel::{self, LocalSystem, System};
use leno::process::{self, Plan, Supervision, process};
use leno::session::{Memory, Pace, Sessions, Stage, State, Wait};
use leno::{Builder, Suspender, ring};

use crate::area::Act;
use crate::bomb::Bomb;
use crate::canary::violation;
use crate::world::{self, Cx, Home, Payload};

/// The operations.
pub const ACTS: &[Act] = &[
    ("exit_keep", keep),
    ("exit_catch", catch),
    ("exit_raise", |_, x, _, _| raise(x)),
    ("exit_raise", |_, x, _, _| raise(x)),
    ("exit_raise", |_, x, _, _| raise(x)),
    ("exit_value", |_, x, _, z| drop(world::put(z, Raises(x)))),
    ("exit_cores", cores),
    ("exit_ring", in_ring),
    ("exit_threadless", threadless),
    ("exit_flexible", in_flexible),
    ("exit_graph", graph),
    ("exit_graph_parallel", graph_parallel),
    ("exit_session", session),
    ("exit_process", in_process),
    ("exit_frames", frames),
];

type Exit = Box<dyn Any + Send>;
type Kept = Mutex<Option<Exit>>;

fn is_exit(payload: &Exit) -> bool {
    let is_own = payload.is::<Bomb>() || payload.is::<Payload>();
    !is_own && !payload.is::<String>() && !payload.is::<&'static str>()
}

fn store(x: u8, exit: Exit) {
    world::share::<Kept>(x, Mutex::new(Some(exit)));
}

/// The exit of a coroutine that has ended meanwhile.
fn an_exit(y: u8) -> Option<Exit> {
    let caught: Arc<Kept> = Arc::default();
    let keeps = caught.clone();
    let keep = move |f: &dyn Fn()| {
        let exit = catch_unwind(AssertUnwindSafe(f)).err();
        *keeps.lock().unwrap_or_else(PoisonError::into_inner) = exit;
    };
    match y % 2 {
        // Only on a thread of its own is nothing else run meanwhile.
        0 => drop(
            std::thread::spawn(move || {
                let system = LocalSystem::new();
                let handle =
                    system.spawn(move || keep(&|| kernel::sleep(Duration::from_secs(3_600))));
                drop(system.spawn(move || handle.cancel()));
                drop(system.run());
            })
            .join(),
        ),
        _ => {
            let home = Home::here();
            let made = Builder::new().stack_size(128 << 10).coroutine(
                move |co: &Suspender<(), ()>, ()| {
                    home.enter();
                    keep(&|| co.suspend(()));
                },
            );
            let made = made.ok()?;
            let _ = made.try_resume(()).is_ok();
            drop(made);
        }
    }
    caught.lock().unwrap_or_else(PoisonError::into_inner).take().filter(is_exit)
}

fn keep(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(exit) = an_exit(y) {
        store(x, exit);
    }
}

/// Catches what a script raises, and keeps it if it is an exit: perhaps that of the running coroutine.
fn catch(cx: &Cx<'_>, x: u8, _: u8, z: u8) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| world::run(cx, z))) else { return };
    if !is_exit(&payload) {
        world::quietly(|| drop(payload));
    } else if world::swallows() {
        store(x, payload);
    } else {
        resume_unwind(payload);
    }
}

/// Raises an exit that someone has kept.
fn raise(x: u8) {
    if std::thread::panicking() {
        return;
    }
    let kept = world::shared::<Kept>(x);
    let kept = kept.and_then(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).take());
    if let Some(exit) = kept.or_else(|| an_exit(x)) {
        resume_unwind(exit);
    }
}

/// Raises a new one, wherever it is called.
fn raise_new(y: u8) {
    if let Some(exit) = an_exit(y) {
        resume_unwind(exit);
    }
}

/// Raises an exit when it is dropped or woken.
struct Raises(u8);

impl Drop for Raises {
    fn drop(&mut self) {
        if world::has_fuel() {
            raise(self.0);
        }
    }
}

/// As [`Raises`], whatever fuel there is.
struct RaisesNew(u8);

impl RaisesNew {
    fn raise(&self) {
        if !std::thread::panicking() {
            raise_new(self.0);
        }
    }
}

impl Drop for RaisesNew {
    fn drop(&mut self) {
        self.raise();
    }
}

struct Wakes(u8);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        raise_new(self.0);
    }
}

/// Runs a check on a thread of its own: the calling code may be told to end while it waits.
fn aside(check: impl FnOnce() + Send + 'static) {
    world::spend(10);
    if let Err(payload) = std::thread::spawn(check).join() {
        std::mem::forget(payload);
        violation("a foreign exit has unwound a thread that did not raise it");
    }
}

/// A core, helpers and the clock outlive a body, a result, a job and a waker that raise one.
fn cores(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let system = System::new(1).expect("there are threads");
        match y % 5 {
            0 => drop(system.spawn(move || raise_new(z))),
            1 => _ = world::quietly(|| drop(system.spawn(move || RaisesNew(z)))),
            2 => drop(system.spawn_future(async move { raise_new(z) })),
            3 => kernel::help(move || raise_new(z)),
            _ => {
                let handle = system.spawn(|| kernel::sleep(Duration::from_micros(50)));
                let mut handle = Box::pin(handle);
                let waker = Waker::from(Arc::new(Wakes(z)));
                drop(handle.as_mut().poll(&mut Context::from_waker(&waker)));
                std::mem::forget(handle);
            }
        }
        if !matches!(system.spawn(|| 5).join(), Ok(5)) {
            violation("a core does not answer after a foreign exit");
        }
    });
}

/// A member that raises one has failed; the others go on.
fn in_ring(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let done = Arc::new(AtomicBool::new(false));
        let own = done.clone();
        world::quietly(|| {
            ring::scope(|s| {
                s.spawn(move || if y % 2 == 0 { raise_new(z) } else { drop(RaisesNew(z)) });
                s.spawn(move || {
                    ring::yield_now();
                    own.store(true, SeqCst);
                });
                ring::run();
            });
        });
        if !done.load(SeqCst) {
            violation("a member has not run to its end: another one raised a foreign exit");
        }
    });
}

/// A body without a stack that raises one fails alone.
fn threadless(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let check = move || {
        let system = Threadless::builder().on_failure(|_| ()).threadless();
        let bad = system.create("bad", move |me: AsyncMe<u32, u32>| async move {
            let _me = me;
            raise_new(z);
        });
        let good = system.create("good", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        asks(&bad, &good);
    };
    aside(move || if y % 2 == 0 { check() } else { in_coroutine(check) });
}

/// Runs a check in a coroutine of a system, around which there is no exit.
fn in_coroutine(check: impl FnOnce() + 'static) {
    let system = LocalSystem::new();
    let handle = system.spawn(check);
    let ran = system.run().is_ok();
    if !ran || !matches!(handle.try_join(), Some(Ok(()))) {
        violation("a foreign exit has ended a coroutine that did not raise it");
    }
}

fn asks(bad: &Flexible<u32, u32>, good: &Flexible<u32, u32>) {
    if bad.call(1).is_ok() || !matches!(good.call(1), Ok(2)) {
        violation("a foreign exit has stopped a system of flexible coroutines");
    }
}

fn in_flexible(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    aside(move || {
        let system = flexible::System::builder().on_failure(|_| ()).build();
        let bad = system.create("bad", move |_: &mut Me<u32, u32>| raise_new(z));
        let good = system.create("good", |me: &mut Me<u32, u32>| {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1);
            }
        });
        asks(&bad, &good);
    });
}

/// A graph whose node raises one: everyone who receives is told. One who is not is a hang.
macro_rules! graph {
    ($graph:expr, $y:expr, $z:expr) => {{
        let (y, z) = ($y, $z);
        let mut graph = $graph;
        let (tx, rx) = graph.channel::<u32>(1);
        if y % 2 == 0 {
            graph.node("bad", tx, move |cx, tx| {
                tx.send(cx, 1);
                raise_new(z);
            });
        } else {
            graph.stackless("bad", tx, move |cx, tx| async move {
                tx.send_async(&cx, 1).await;
                poll_fn(move |_| {
                    raise_new(z);
                    std::task::Poll::Ready(())
                })
                .await;
            });
        }
        let Ok(run) = graph.build() else { return };
        let outlet = run.outlet(rx);
        for _ in 0..3 {
            world::quietly(|| drop(outlet.checked_receive().map_err(|halt| halt.to_string())));
        }
        world::quietly(|| drop(outlet));
        world::quietly(|| drop(run.finish()));
    }};
}

fn graph(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    aside(move || {
        if x % 2 == 0 {
            graph!(Graph::deterministic().sequential(), y, z);
        } else {
            graph!(Graph::nondeterministic().sequential(), y, z);
        }
    });
}

fn graph_parallel(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    aside(move || {
        if x % 2 == 0 {
            graph!(Graph::deterministic().parallel(1), y, z);
        } else {
            graph!(Graph::nondeterministic().parallel(2), y, z);
        }
    });
}

type Order = frame::Co<Wait, leno::session::Wake, Stage>;

#[resumable]
async fn bad(co: &mut Order, plan: u8) -> u8 {
    let _wake = co.suspend(Wait::step()).await;
    raise_new(plan);
    plan
}

#[resumable]
async fn good(co: &mut Order, n: u32) -> u32 {
    let _wake = co.suspend(Wait::step()).await;
    n + 1
}

/// A worker that is a coroutine outlives a step that raises one.
fn session(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    // Workers wait in real time: seldom, or the others would not get their share.
    if z % 64 != 0 {
        return;
    }
    aside(move || {
        let pace = Pace { ttl: Duration::from_millis(50), attempts: 1, ..Pace::default() };
        let sessions = Sessions::open(Memory::new()).register("bad", bad).register("good", good);
        let sessions = sessions.pace(pace);
        let system = System::new(1).expect("there are threads");
        let stop = Arc::new(AtomicBool::new(false));
        let (own, until) = (sessions.clone(), stop.clone());
        let worker = system.spawn(move || own.work(&until));
        drop(sessions.start("bad", &(z,)));
        // Until the bad one has run.
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1));
            if worker.is_finished() {
                violation("a foreign exit has ended a worker of sessions");
            }
        }
        let Ok(id) = sessions.start("good", &(1_u32,)) else { return };
        while sessions.show(id).is_ok_and(|row| row.state != State::Done) {
            if worker.is_finished() {
                violation("a foreign exit has ended a worker of sessions");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, SeqCst);
        drop(worker.join());
    });
}

/// A process whose entry raises one.
#[derive(Default)]
struct Fails(u32);

#[process]
impl Fails {
    #[entry]
    fn fail(&mut self, z: u8) -> u32 {
        raise_new(z);
        self.0
    }

    #[entry]
    fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

/// A supervised process is begun again, as after a panic.
fn in_process(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    aside(move || {
        let Ok(system) = process::System::new(1) else { return };
        let plan = Plan::new().supervised(Supervision::Restart(3));
        let fails = system.start_again(plan, Fails::default);
        let failed = fails.fail(z).ok().is_some_and(|reply| reply.wait().is_err());
        let added = fails.add().ok().and_then(|reply| reply.wait().ok());
        if !failed || added != Some(1) {
            violation("a process that raised a foreign exit is not begun again");
        }
        drop(system.stop());
    });
}

/// A value whose serialiser raises one.
#[derive(serde::Deserialize)]
struct Stored(u8);

impl serde::Serialize for Stored {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 2 == 0 {
            raise_new(self.0 / 2);
        }
        serializer.serialize_u8(self.0)
    }
}

#[resumable]
async fn stored(co: &mut frame::Co<u32>, plan: u8) -> bool {
    let value = Stored(plan);
    co.suspend(1).await;
    value.0 == plan
}

/// A snapshot whose serialiser raises one fails, and the coroutine goes on.
fn frames(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let check = move || {
        let (mut frames, _) = frame::Resumable::<u32, (), bool>::start(&mut (), stored, (z & !1,));
        let snapshot = world::quietly(|| frames.snapshot(crate::area::frame::format(y)).is_ok());
        if snapshot != Some(false) {
            violation("a snapshot whose serialiser raises a foreign exit does not fail");
        }
        if !matches!(frames.resume(&mut (), ()), frame::State::Complete(true)) {
            violation("a coroutine does not go on after a serialiser that raised a foreign exit");
        }
    };
    aside(move || if y % 2 == 0 { check() } else { in_coroutine(check) });
}
