//! Selects beside user code that waits or panics: what they take reaches a handler or stays where it was, and they go
//! on when they can.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use leno::channel::{self, Mutex, Receiver, Select, Semaphore, Sender, Shared, Source};
use leno::kernel::{self, LocalSystem, Reason, Time, Waiter};

use crate::area::Act;
use crate::bomb;
use crate::bomb::Bomb;
use crate::canary::violation;
use crate::rng::Rng;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("select_scripts", scripts),
    ("select_scripts", scripts),
    ("waker_parks", waker_parks),
    ("select_keeps", |_, x, y, z| keeps(Kind::Local, [x, y, z])),
    ("select_keeps", |_, x, y, z| keeps(Kind::Local, [x, y, z])),
    ("select_keeps_shared", |_, x, y, z| keeps(Kind::Shared, [x, y, z])),
    ("select_leaves_panic", |_, x, y, z| keeps(Kind::Leaves, [x, y, z])),
];

type Both = (Sender<Bomb, Shared>, Receiver<Bomb, Shared>);

/// A source that runs a script in each of its methods.
struct Scripted<'a>(&'a Cx<'a>, u8, bool);

impl Scripted<'_> {
    fn run(&self, turn: u8) {
        let script = self.1.wrapping_add(turn);
        if script % 4 == 0 {
            return;
        }
        if std::thread::panicking() {
            world::run_quietly(self.0, script);
        } else {
            world::run(self.0, script);
        }
    }
}

impl Source for Scripted<'_> {
    type Item = Bomb;

    fn take(&mut self) -> Option<Bomb> {
        self.run(0);
        self.2.then(|| Bomb::new(self.1))
    }

    fn wait(&mut self, waiter: &Waiter) {
        self.run(1);
        if self.1 % 2 == 0 {
            waiter.clone().wake();
        }
    }

    fn leave(&mut self, _: &Waiter) {
        self.run(2);
    }

    fn is_ready(&self) -> bool {
        self.run(3);
        self.2
    }

    fn deadline(&self) -> Option<Time> {
        self.run(5);
        (self.1 % 3 == 0).then(kernel::now)
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// Waits at channels, a join and sources that run scripts.
fn scripts(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (Some(one), Some(other)) = (world::shared::<Both>(x), world::shared::<Both>(y)) else {
        return drop(world::share(x, channel::shared::bounded::<Bomb>(usize::from(y % 3))));
    };
    let value = Bomb::new(z);
    let select = Select::new()
        .recv(&one.1, drop)
        .source(Scripted(cx, z, y % 8 == 0), drop)
        .send(&other.0, Bomb::new(z), move |sent| drop((sent, value)))
        .join((&one.1, &other.1), drop)
        .source(Scripted(cx, z.wrapping_add(7), false), drop)
        .after(Duration::from_micros(100), || world::run(cx, z));
    if y % 4 == 0 {
        let mut future = Box::pin(select.wait_async());
        let _ = future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
    } else {
        drop(select.wait().map_err(|error| error.to_string()));
    }
}

/// What user code does beside a select.
fn act(way: u64) {
    if std::thread::panicking() || !kernel::can_park() {
        return;
    }
    match way % 8 {
        4 => kernel::yield_now(),
        5 => kernel::sleep(TICK * 2),
        6 => _ = kernel::park_until(Reason::Blocking, kernel::now() + TICK),
        7 if way >> 3 & 1 == 0 => panic!("hostile code panics beside a select"),
        _ => {}
    }
}

const TICK: Duration = Duration::from_millis(1);

/// A waker that waits, and so takes wakes that are meant for others.
struct Parks(u64);

impl Wake for Parks {
    fn wake(self: Arc<Self>) {
        act(self.0);
    }
}

fn parks(way: u64) -> Waker {
    Waker::from(Arc::new(Parks(way)))
}

/// A future that waits at a channel with a waker that waits.
fn waker_parks(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    type Waits = StdMutex<Pin<Box<dyn Future<Output = ()> + Send>>>;
    let Some(both) = world::shared::<Both>(x) else {
        return drop(world::share(x, channel::shared::bounded::<Bomb>(usize::from(y % 3))));
    };
    let future: Pin<Box<dyn Future<Output = ()> + Send>> = if y % 2 == 0 {
        Box::pin(async move { drop(both.1.recv_async().await) })
    } else {
        Box::pin(async move { drop(both.0.send_async(Bomb::new(z)).await) })
    };
    let kept = world::share::<Waits>(x, StdMutex::new(future));
    let Ok(mut future) = kept.try_lock() else { return };
    let _ = future.as_mut().poll(&mut Context::from_waker(&parks(4 + u64::from(z) % 4)));
}

/// Panics when it is dropped, if it is to.
struct Drops(bool);

impl Drop for Drops {
    fn drop(&mut self) {
        if self.0 && !std::thread::panicking() {
            panic!("hostile code panics: a destructor");
        }
    }
}

/// A source that is never ready, and waits or panics in its methods.
struct Waits {
    plan: u64,
    /// What it does when it is left, if that may panic.
    leaves: Option<Rc<dyn Fn()>>,
    _drops: Drops,
}

impl Source for Waits {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        act(self.plan);
        None
    }

    fn wait(&mut self, _: &Waiter) {
        act(self.plan >> 4);
    }

    fn leave(&mut self, _: &Waiter) {
        let way = self.plan >> 8;
        match &self.leaves {
            Some(leaves) => {
                leaves();
                act(way);
            }
            // A panic in it is an operation of its own.
            None if way % 8 == 7 => {}
            None => act(way),
        }
    }

    fn deadline(&self) -> Option<Time> {
        act(self.plan >> 12);
        None
    }

    fn is_shared(&self) -> bool {
        true
    }
}

type Later = Pin<Box<dyn Future<Output = ()>>>;

/// Which objects a program is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Local,
    Shared,
    /// As local ones, with sources that panic when they are left.
    Leaves,
}

/// A select at a mutex, a semaphore, a channel and a join, which others give up or send one after the other. At the
/// end all that there was is there, or was handled, and nobody waits.
macro_rules! program {
    ($rng:expr, $leaves:expr, $mutex:expr, $permits:expr, $bounded:path, $channel:path) => {{
        let (rng, leaves): (&mut Rng, bool) = ($rng, $leaves);
        let system = LocalSystem::builder().virtual_time().build();
        let (mutex, permits) = (Rc::new($mutex), Rc::new($permits));
        let ((value, values), (out, nowhere)) = ($bounded(1), $channel());
        let ((one, ones), (two, twos), (_never, none)) = ($bounded(1), $bounded(1), $channel());
        let [values, ones, twos] = [values, ones, twos].map(Rc::new);
        let (nowhere, none): (Receiver<Drops, _>, Receiver<u32, _>) = (nowhere, none);
        let (handled, joined) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let is_held = rng.below(4) > 0;
        let (frees, held) = (rng.below(8) as u32, mutex.clone());
        drop(system.spawn(move || {
            let guard = is_held.then(|| held.try_lock());
            kernel::sleep(TICK * frees);
            drop(guard);
        }));
        let order: Vec<usize> = (0..2 + rng.below(5)).map(|_| rng.below(6)).collect();
        let (is_many, plan, drops) = (rng.one_in(2), rng.number(), rng.one_in(2));
        let giver = rng.number();
        let cancelled = rng.one_in(4).then(|| TICK * rng.below(8) as u32);
        let objects = (mutex.clone(), permits.clone(), values.clone(), ones.clone(), twos.clone());
        let counts = (handled.clone(), joined.clone());
        let lines = Rc::new(RefCell::new(Vec::<Later>::new()));
        let (line, taken) = (lines.clone(), Rc::new(Cell::new(0)));
        let first = taken.clone();
        let select = system.spawn(move || {
            let (mutex, permits, values, ones, twos) = objects;
            let (handled, joined) = counts;
            let mut joins = Box::pin(channel::join((&nowhere, &none)).recv_async());
            if plan >> 40 & 1 == 0 {
                let waker = parks(plan >> 44);
                drop(joins.as_mut().poll(&mut Context::from_waker(&waker)));
            }
            let got = |value: Result<u32, _>| {
                if value.is_ok() {
                    handled.set(handled.get() + 1);
                }
            };
            let both = |values: Result<(u32, u32), _>| {
                if values.is_ok() {
                    joined.set(joined.get() + 1);
                }
            };
            // Another one stands in line when the select leaves, and its waker waits.
            let of = ones.clone();
            let stands: Rc<dyn Fn()> = Rc::new(move || {
                let (of, first) = (of.clone(), first.clone());
                let mut future: Later = Box::pin(async move {
                    if of.recv_async().await.is_ok() {
                        first.set(first.get() + 1);
                    }
                });
                let waker = parks(plan >> 50);
                let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
                line.borrow_mut().push(future);
                if let Some(co) = kernel::current().filter(|_| plan >> 42 & 1 == 0) {
                    kernel::cancel(co);
                }
            });
            let waits = || Waits {
                plan: plan >> 16,
                leaves: leaves.then(|| stands.clone()),
                _drops: Drops(drops),
            };
            let wait = || {
                if is_many {
                    let mut select = Select::many();
                    for kind in order {
                        select = match kind {
                            0 => select.recv(&*mutex, drop),
                            1 => select.recv(&*permits, drop),
                            2 => select.recv(&*values, got),
                            3 => select.join((&*ones, &*twos), both),
                            4 => select.send(&out, Drops(drops), drop),
                            _ => select.source(waits(), drop),
                        };
                    }
                    select.recv(&*mutex, drop).wait().is_ok()
                } else if plan >> 41 & 1 == 0 {
                    let select = Select::new().source(waits(), drop).join((&*ones, &*twos), both);
                    let select = select.recv(&*mutex, drop).send(&out, Drops(drops), drop);
                    select.recv(&*permits, drop).recv(&*values, got).wait().is_ok()
                } else {
                    let select = Select::new().recv(&*values, got).recv(&*mutex, drop);
                    let select = select.send(&out, Drops(drops), drop).source(waits(), drop);
                    select.join((&*ones, &*twos), both).wait().is_ok()
                }
            };
            let raised = catch_unwind(AssertUnwindSafe(wait)).is_err();
            drop(catch_unwind(AssertUnwindSafe(|| drop((joins, out)))));
            raised
        });
        let co = select.co();
        let gives = {
            let permits = permits.clone();
            move || {
                let mut left = giver;
                let mut pause = || {
                    kernel::sleep(TICK * (left % 4) as u32 + TICK / 2);
                    left >>= 2;
                };
                pause();
                // Others that wait keep it only for a moment.
                drop(value.try_send(1));
                pause();
                drop(one.try_send(2));
                pause();
                drop(two.try_send(3));
                pause();
                permits.release(1);
            }
        };
        drop(system.spawn(gives));
        if let (Some(at), Some(co)) = (cancelled, co) {
            drop(system.spawn(move || {
                kernel::sleep(at);
                kernel::cancel(co);
            }));
        }
        let ran = system.run().is_ok();
        let is_over = select.try_join().is_some();
        let gone = lines.take();
        drop(gone);
        let left = usize::from(values.try_recv().is_ok());
        let pair = [ones.try_recv().is_ok(), twos.try_recv().is_ok()].map(usize::from);
        if !ran || !is_over {
            Some("a select sleeps although it could go on")
        } else if mutex.try_lock().is_err() {
            Some("a select has lost a mutex")
        } else if permits.available() != 1 {
            Some("a select has lost a permit")
        } else if handled.get() + left != 1 {
            Some("a select has lost a value")
        } else if [pair[0] + joined.get() + taken.get(), pair[1] + joined.get()] != [1, 1] {
            Some("a select has lost a value of a join")
        } else {
            None
        }
    }};
}

fn keeps(kind: Kind, [x, y, z]: [u8; 3]) {
    world::spend(3);
    let mut rng = Rng::new(u64::from_le_bytes([x, y, z, 0, 0, 0, 0, 0]));
    let kept = std::thread::spawn(move || match kind {
        Kind::Local | Kind::Leaves => {
            let (mutex, permits) = (Mutex::local(0_u32), Semaphore::local(0));
            let leaves = kind == Kind::Leaves;
            program!(&mut rng, leaves, mutex, permits, channel::bounded, channel::channel)
        }
        Kind::Shared => {
            use channel::shared;
            let (mutex, permits) = (Mutex::shared(0_u32), Semaphore::shared(0));
            program!(&mut rng, false, mutex, permits, shared::bounded, shared::channel)
        }
    });
    match kept.join() {
        Ok(None) => {}
        Ok(Some(lost)) => violation(lost),
        Err(payload) => {
            std::mem::forget(payload);
            violation("a thread with a select has panicked");
        }
    }
}
