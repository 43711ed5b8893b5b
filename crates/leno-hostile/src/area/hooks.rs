//! Panic hooks that use the object whose operation panics.
//!
//! The process has one panic hook ([`crate::child`]), which calls what the panicking thread has armed. A panic in a
//! panic hook ends the process, so what it does here raises nothing: other hostile code behaves meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use leno::channel::{self, Mutex, Receiver, Semaphore, Sender, Shared};
use leno::flexible::{self, AsyncMe, Flexible, Me, Threadless};
use leno::frame::{Co, resumable};
use leno::io::memory::Stream;
use leno::kernel::dump::Depth;
use leno::kernel::{self, LocalSystem, System};
use leno::process::{self, process};
use leno::session::{Memory, Pace, Query, Sessions, Stage, Wait, Wake};
use leno::{Builder, Coroutine, Suspender, ring};

use crate::area::Act;
use crate::bomb::Bomb;
use crate::canary::violation;
use crate::rng::Rng;
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("hook_arena", arena),
    ("hook_arena", arena),
    ("hook_local_channel", local_channel),
    ("hook_shared_channel", shared_channel),
    ("hook_lock", lock),
    ("hook_coroutine", coroutine),
    ("hook_ring", in_ring),
    ("hook_local_system", local_system),
    ("hook_system", system),
    ("hook_threadless", threadless),
    ("hook_threadless_early", early),
    ("hook_flexible", in_flexible),
    ("hook_process", in_process),
    ("hook_session", session),
    ("hook_graph", graph),
];

type Armed = Box<dyn FnOnce()>;

thread_local! {
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling code is in a panic hook.
pub fn is_inside() -> bool {
    INSIDE.try_with(Cell::get).unwrap_or(false)
}

/// Calls what the calling thread has armed, once. The panic hook does so.
pub fn fire() {
    if is_inside() {
        return;
    }
    let armed = ARMED.try_with(|armed| armed.try_borrow_mut().ok().and_then(|mut a| a.take()));
    if let Ok(Some(armed)) = armed {
        INSIDE.set(true);
        armed();
        INSIDE.set(false);
    }
}

/// Has the next panic of the calling thread call `f`.
fn arm(f: impl FnOnce() + 'static) {
    if !is_inside() {
        drop(ARMED.replace(Some(Box::new(f))));
    }
}

/// Runs operations on a thread of its own, which has armed nothing else.
fn aside(f: impl FnOnce() + Send + 'static) {
    world::spend(5);
    if let Err(payload) = std::thread::spawn(move || world::quietly(f)).join() {
        std::mem::forget(payload);
        violation("a thread whose panics are caught has panicked");
    }
}

/// Uses a few objects of the arenas when the calling thread panics next, whatever does.
fn arena(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    arm(move || {
        let mut rng = Rng::new(u64::from(z));
        for _ in 0..1 + y % 4 {
            gentle(rng.below(10), x.wrapping_add(rng.number() as u8));
        }
    });
    if y % 2 == 0 {
        world::run(cx, z);
    }
}

type Both = (Sender<Bomb, Shared>, Receiver<Bomb, Shared>);

/// Uses an object in a way that raises nothing.
fn gentle(way: usize, x: u8) {
    match way {
        0 => {
            if let Some(both) = world::shared::<Both>(x) {
                drop((both.0.try_send(Bomb::new(0)), both.1.try_recv(), both.0.state()));
                drop((both.0.waiting_receivers(), format!("{both:?}")));
            }
        }
        1 => {
            if let Some(local) = world::get::<(Sender<Bomb>, Receiver<Bomb>)>(x) {
                drop((local.0.try_send(Bomb::new(0)), local.1.try_recv(), format!("{local:?}")));
            }
        }
        2 => {
            if let Some(lock) = world::shared::<Mutex<Bomb, Shared>>(x) {
                drop((lock.try_lock().is_ok(), format!("{lock:?}")));
            }
            if let Some(semaphore) = world::shared::<Semaphore<Shared>>(x) {
                semaphore.release(1);
                drop((semaphore.available(), format!("{semaphore:?}")));
            }
        }
        3 => {
            if let Some(system) = world::get::<LocalSystem>(x) {
                drop((system.report(), system.dump(Depth::States).to_string()));
                drop(format!("{system:?}"));
            }
        }
        4 => {
            // A report would wait a second for a core that is busy, such as one that runs the hook.
            if let Some(system) = world::shared::<System>(x) {
                drop((format!("{system:?}"), system.spawn(|| ())));
            }
        }
        5 => {
            if let Some(system) = world::shared::<Threadless>(x) {
                drop((system.snapshot().to_string(), system.failures().len()));
            }
            if let Some(co) = world::shared::<Flexible<Bomb, Bomb>>(x) {
                drop((co.state(), co.name(), format!("{co:?}")));
            }
        }
        6 => {
            if let Some(stream) = world::shared::<Stream>(x) {
                drop((stream.try_read(&mut [0; 8]), stream.try_write(&[0; 8])));
                drop(format!("{stream:?}"));
            }
        }
        7 => {
            if let Some(co) = world::get::<Coroutine<Bomb, Bomb, Bomb>>(x) {
                drop((co.state(), format!("{co:?}"), co.status().is_finished()));
            }
            drop(format!("{:?}", ring::members()));
        }
        8 => {
            if let Some(sessions) = world::shared::<Sessions>(x) {
                let _ = (sessions.metrics(), sessions.list(&Query::default()).is_ok());
            }
        }
        _ => {
            if let Some(co) = world::get::<kernel::Co>(x) {
                kernel::unpark(*co);
            }
            let _ = leno::list::coroutines().len();
            let _ = kernel::current();
        }
    }
}

/// A plain thread must not wait at what belongs to its own coroutines.
fn local_channel(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    aside(move || {
        let (tx, rx) = channel::channel::<u32>();
        let (tx, rx) = (Rc::new(tx), Rc::new(rx));
        let own = (tx.clone(), rx.clone());
        arm(move || {
            let (tx, rx) = own;
            drop((rx.len(), tx.state(), tx.waiting_senders(), rx.waiting_receivers()));
            drop((tx.try_send(1), rx.try_recv(), format!("{tx:?} {rx:?}")));
        });
        if y % 2 == 0 { drop(rx.recv()) } else { drop(tx.send(1)) }
    });
}

/// A future must not block the core that polls it.
fn shared_channel(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    aside(move || {
        let (tx, rx) = channel::shared::bounded::<u32>(1);
        if y % 2 == 0 {
            drop(tx.try_send(1));
        }
        let (own, system) = ((tx.clone(), rx.clone()), LocalSystem::new());
        drop(system.spawn_future(async move {
            arm(move || drop((own.0.try_send(2), own.1.try_recv(), format!("{own:?}"))));
            if y % 2 == 0 { drop(tx.send(1)) } else { drop(rx.recv()) }
        }));
        drop(system.run());
    });
}

fn lock(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    aside(move || {
        let (lock, permits) = (Rc::new(Mutex::local(1)), Rc::new(Semaphore::local(0)));
        let own = (lock.clone(), permits.clone());
        let guard = lock.try_lock();
        arm(move || {
            drop((own.0.try_lock().is_ok(), own.1.available(), format!("{own:?}")));
            own.1.release(1);
        });
        if y % 2 == 0 {
            drop(lock.lock())
        } else {
            drop(permits.acquire())
        }
        drop(guard);
    });
}

/// A coroutine that resumes itself, or is resumed after its end.
fn coroutine(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        type Own = Rc<RefCell<Option<Rc<Coroutine<Bomb, Bomb, Bomb>>>>>;
        let (own, home) = (Own::default(), Home::here());
        let inside = own.clone();
        let body = move |_: &Suspender<Bomb, Bomb>, input: Bomb| {
            home.enter();
            input.check();
            let own = inside.borrow().clone().expect("it is kept");
            uses(own.clone());
            if y % 3 == 0 {
                drop(own.resume(Bomb::new(z)));
            }
            panic!("hostile code panics");
        };
        let Ok(made) = Builder::new().stack_size(128 << 10).coroutine(body) else { return };
        let made = Rc::new(made);
        *own.borrow_mut() = Some(made.clone());
        world::quietly(|| drop(made.resume(Bomb::new(z))));
        uses(made.clone());
        world::quietly(|| drop(made.resume(Bomb::new(z))));
        drop(own.take());
    });
}

fn uses(co: Rc<Coroutine<Bomb, Bomb, Bomb>>) {
    arm(move || {
        drop((format!("{co:?}"), co.state(), co.backtrace()));
        drop(co.try_resume(Bomb::new(0)).map_err(|error| error.to_string()));
        drop(leno::list::coroutines());
    });
}

fn in_ring(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    aside(move || {
        let home = Home::here();
        drop(ring::spawn(move || {
            home.enter();
            arm(|| {
                drop(format!("{:?}", ring::members()));
                drop(ring::failures().map(|failures| failures.len()));
                drop(ring::spawn(|| ()));
            });
            panic!("hostile code panics");
        }));
        if y % 2 == 0 {
            world::quietly(ring::run);
        } else {
            world::quietly(ring::yield_now);
        }
        drop(ring::drain());
    });
}

fn local_system(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let (system, home) = (Rc::new(LocalSystem::new()), Home::here());
        let own = system.clone();
        let handle = system.spawn(move || {
            home.enter();
            let inside = own.clone();
            arm(move || {
                drop((inside.report(), inside.dump(Depth::States).to_string(), inside.log()));
                drop((inside.spawn(|| ()), inside.spawn_future(async {}), format!("{inside:?}")));
                if let Some(co) = kernel::current() {
                    kernel::unpark(co);
                }
            });
            match y % 3 {
                // A system cannot be run by its own coroutine.
                0 => drop(own.run()),
                1 => world::panic_hostile(z),
                _ => drop(kernel::attach(kernel::current().expect("it is one")).expect("itself")),
            }
        });
        drop(system.run());
        drop(handle);
    });
}

fn system(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let system = Arc::new(System::new(1).expect("there are threads"));
        // What is armed and does not fire stays with its core, which the last handle ends.
        let inside = Arc::downgrade(&system);
        let handle = system.spawn(move || {
            arm(move || {
                if let Some(own) = inside.upgrade() {
                    drop((own.report(), own.spawn(|| ()), format!("{own:?}")));
                }
            });
            if y % 2 == 0 {
                world::panic_hostile(z);
            }
            kernel::block_on(std::future::pending::<()>());
        });
        if y % 2 == 1 {
            handle.cancel();
        }
        drop(handle.join());
        if !matches!(system.spawn(|| 5).join(), Ok(5)) {
            violation("a core does not answer after a panic hook");
        }
    });
}

fn threadless(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let system = Arc::new(Threadless::builder().on_failure(|_| ()).threadless());
        let own: Arc<StdMutex<Option<Flexible<u32, u32>>>> = Arc::default();
        let (inside, at) = (Arc::downgrade(&system), own.clone());
        let made = system.create("bad", move |me: AsyncMe<u32, u32>| async move {
            let _me = me;
            arm(move || {
                if let Some(system) = inside.upgrade() {
                    drop((system.snapshot().to_string(), system.failures().len()));
                    drop(format!("{system:?}"));
                }
                if let Some(co) = at.try_lock().ok().and_then(|at| at.clone()) {
                    drop((co.state(), co.name(), format!("{co:?}")));
                }
            });
            world::panic_hostile(z);
        });
        *own.lock().expect("nobody panics with it") = Some(made.clone());
        if y % 2 == 0 {
            drop(made.call(1))
        } else {
            drop(made.kick())
        }
        drop(made.call(1));
        drop(own.lock().expect("nobody panics with it").take());
    });
}

/// A body that asks for its name before it is one.
fn early(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    aside(move || {
        let system = Arc::new(Threadless::new());
        let inside = system.clone();
        let create = || {
            system.create("early", move |me: AsyncMe<u32, u32>| {
                arm(move || drop((inside.snapshot().to_string(), format!("{inside:?}"))));
                if y % 2 == 0 {
                    drop(me.name())
                } else {
                    drop(me.caller())
                }
                async move { drop(me) }
            })
        };
        world::quietly(|| drop(create()));
        drop(system.snapshot());
    });
}

fn in_flexible(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let system = flexible::System::builder().on_failure(|_| ()).build();
        let own: Arc<StdMutex<Option<Flexible<u32, u32>>>> = Arc::default();
        let at = own.clone();
        let made =
            system.coroutine("bad").stack_size(128 << 10).create(move |me: &mut Me<u32, u32>| {
                arm(move || {
                    if let Some(co) = at.try_lock().ok().and_then(|at| at.clone()) {
                        drop((co.state(), co.name(), co.caller(), format!("{co:?}")));
                    }
                });
                if y % 2 == 0 {
                    world::panic_hostile(z);
                }
                // It has no caller any more.
                me.answer(1);
                me.answer(2);
                panic!("hostile code panics");
            });
        *own.lock().expect("nobody panics with it") = Some(made.clone());
        drop(made.call(1));
        drop(made.call(1));
        drop(own.lock().expect("nobody panics with it").take());
    });
}

/// A process whose entry panics.
#[derive(Default)]
struct Fails(u32);

#[process]
impl Fails {
    #[entry]
    fn fail(&mut self, own: FailsRef) -> u32 {
        arm(move || drop((own.add().is_ok(), own.status(), format!("{own:?}"))));
        panic!("hostile code panics");
    }

    #[entry]
    fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

fn in_process(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    aside(|| {
        let Ok(system) = process::System::new(1) else { return };
        let fails = system.start(Fails::default());
        if let Ok(reply) = fails.fail(fails.clone()) {
            drop(reply.wait());
        }
        drop(fails.add().map(|reply| reply.wait()));
        drop(system.stop());
    });
}

type Order = Co<Wait, Wake, Stage>;

#[resumable]
async fn bad(co: &mut Order, plan: u8) -> u8 {
    let _wake = co.suspend(Wait::step()).await;
    let own = SESSIONS.with(|own| own.borrow().clone());
    arm(move || {
        if let Some(own) = own {
            drop((own.metrics(), own.list(&Query::default()).is_ok(), own.health()));
            let _ = own.start("bad", &(0_u8,)).is_ok();
        }
    });
    world::panic_hostile(plan);
    #[allow(unreachable_code)]
    plan
}

thread_local!(static SESSIONS: RefCell<Option<Sessions>> = const { RefCell::new(None) });

fn session(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    aside(move || {
        let pace = Pace { ttl: Duration::from_millis(50), attempts: 1, ..Pace::default() };
        let sessions = Sessions::open(Memory::new()).register("bad", bad).pace(pace);
        SESSIONS.set(Some(sessions.clone()));
        let Ok(id) = sessions.start("bad", &(z,)) else { return };
        drop(sessions.run_for(id, Duration::from_millis(100)).map_err(|error| error.to_string()));
        drop(SESSIONS.take());
    });
}

fn graph(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    aside(move || {
        let mut graph = leno::graph::Graph::deterministic().sequential();
        let (tx, rx) = graph.channel::<u32>(1);
        graph.node("bad", tx, move |cx, tx| {
            tx.send(cx, 1);
            arm(move || {
                drop(leno::list::coroutines());
                // It waits a second for a core that is busy, such as one that waits for this thread.
                if y % 16 == 0 {
                    drop(kernel::dump_all(Depth::States));
                }
            });
            if y % 2 == 0 {
                world::panic_hostile(z);
            }
        });
        let Ok(run) = graph.build() else { return };
        let outlet = run.outlet(rx);
        for _ in 0..3 {
            world::quietly(|| drop(outlet.checked_receive().map_err(|halt| halt.to_string())));
        }
    });
}
