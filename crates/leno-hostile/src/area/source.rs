//! Sources of selects that misbehave, and waits whose clock panics.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use leno::channel::{self, Mutex, Receiver, Select, Semaphore, Sender, Shared, Source};
use leno::kernel::layer::bell::Bell;
use leno::kernel::{LocalSystem, Platform, RealTime, Time, Waiter};

use crate::bomb::{self, Bomb};
use crate::canary::violation;
use crate::world::{self, Cx};

type Both = (Sender<Bomb, Shared>, Receiver<Bomb, Shared>);

/// Runs a script whenever it is asked: it closes, sends, joins, yields, waits.
struct Hostile<'a>(&'a Cx<'a>, u8);

impl Source for Hostile<'_> {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        world::run(self.0, self.1);
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}
}

/// Waits at two channels and a source.
pub fn select(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (Some(one), Some(other)) = (world::shared::<Both>(x), world::shared::<Both>(y)) else {
        return;
    };
    let select = Select::new()
        .recv(&one.1, drop)
        .send(&other.0, Bomb::new(z), drop)
        .source(Hostile(cx, z), drop)
        .after(Duration::from_micros(100), || ());
    if y % 4 == 0 {
        let mut future = Box::pin(select.wait_async());
        let _ = future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
    } else {
        drop(select.wait().map_err(|error| error.to_string()));
    }
}

/// A channel ends while one of its selects asks a source: everyone else is told.
pub fn close(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    struct Closes(Option<Sender<u32>>, u8);
    impl Source for Closes {
        type Item = ();
        fn take(&mut self) -> Option<()> {
            // Not before its select stands in line.
            self.1 = self.1.wrapping_sub(1);
            if self.1 == 0 {
                leno::kernel::yield_now();
                self.0 = None;
            }
            None
        }
        fn wait(&mut self, _: &Waiter) {}
        fn leave(&mut self, _: &Waiter) {}
    }
    world::spend(5);
    let told = std::thread::spawn(move || {
        let system = LocalSystem::new();
        let (tx, rx) = channel::bounded(usize::from(y % 2));
        let others = [rx.clone(), rx.clone()].map(|rx| system.spawn(move || rx.recv().is_err()));
        let select = system.spawn(move || {
            let closes = Closes(Some(tx), 2);
            Select::new().recv(&rx, |got| got.is_err()).source(closes, |()| false).wait()
        });
        let is_told = |told: leno::kernel::JoinHandle<bool>| told.try_join().is_some();
        system.run().is_ok() && select.try_join().is_some() && others.into_iter().all(is_told)
    });
    if !matches!(told.join(), Ok(true)) {
        violation("a source has closed a channel, and someone was not told");
    }
}

struct Clock(RealTime, Rc<Cell<u8>>);

impl Platform for Clock {
    fn now(&self) -> Time {
        let left = self.1.get();
        self.1.set(left.saturating_sub(1));
        assert_ne!(left, 1, "hostile code panics: a clock");
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }
}

/// A clock panics while its caller stands in line: what was meant for it is not lost.
pub fn clock(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    world::spend(5);
    let kept = std::thread::spawn(move || {
        let fuse = Rc::new(Cell::new(0));
        let system = LocalSystem::builder().platform(Clock(RealTime::new(), fuse.clone())).build();
        let limit = Duration::from_secs(3_600);
        let waits = system.spawn(move || {
            let (tx, rx) = channel::channel();
            let (mutex, permits) = (Mutex::local(()), Semaphore::local(0));
            let guard = mutex.try_lock();
            // One call for the limit, one to park.
            fuse.set(2);
            let wait = || match y % 3 {
                0 => drop(rx.recv_timeout(limit)),
                1 => drop(mutex.lock_timeout(limit)),
                _ => drop(permits.acquire_timeout(limit)),
            };
            let raised = catch_unwind(AssertUnwindSafe(wait)).is_err();
            drop(guard);
            permits.release(1);
            raised
                && tx.try_send(()).is_err()
                && mutex.try_lock().is_ok()
                && permits.available() == 1
        });
        system.run().is_ok() && matches!(waits.try_join(), Some(Ok(true)))
    });
    if !matches!(kept.join(), Ok(true)) {
        violation("a clock has panicked, and something was handed to nobody");
    }
}
