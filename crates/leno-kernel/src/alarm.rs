//! Waking a future at a certain time.
//!
//! Where a core polls the future, the core's own timers do it, in its own time: they know whom to wake
//! by name, so it may go to another core meanwhile. The alarm stays: while the first core is kept busy
//! by one coroutine, the future is late as whoever sleeps there is. To hand all timers of a core to
//! another would put a lock around every timer, for bodies that break the rule to give way.
//! Where the core's future has wrapped the waker, a coroutine sleeps and wakes it. On other executors
//! a thread of this process does, which starts with the first such alarm.

use core::task::Context;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::task::Waker;

use crate::bell::Bell;
use crate::core::Core;
use crate::mailbox::{self, Message};
use crate::raw::entered::{self, Here};
use crate::sync::{Mutex, lock};
use crate::timers::TimerKey;
use crate::{Co, Time, now, spawn_local, user, world};

/// Wakes a future at a certain time, unless it is dropped before.
#[derive(Debug)]
pub struct Alarm {
    by: By,
}

/// A timer of a core.
#[derive(Clone, Copy, Debug)]
struct Timer {
    key: TimerKey,
    /// Tells its core from others that have its number later.
    generation: u32,
}

impl Timer {
    fn remove(self, core: &Core) {
        if core.generation() == self.generation {
            core.disarm(self.key);
        }
    }
}

#[derive(Debug)]
enum By {
    Core(u32, Timer),
    Sleeper(Co),
    Clock(Time, u64),
}

impl Alarm {
    /// Has the waker of this context woken at `when`, by the clock of the calling code.
    pub fn set(when: Time, context: &Context<'_>) -> Alarm {
        let own = entered::here(|here| {
            let (core, co) = match here {
                Here::Stack(inside) | Here::Virtual(inside) => (inside.core, inside.co),
                Here::Future(core, co) => (core, co),
                Here::Thread => return None,
            };
            let is_own = core.waker_of(co)?.will_wake(context.waker());
            Some(is_own.then(|| {
                let timer = Timer { key: core.arm(when, co), generation: core.generation() };
                By::Core(core.number(), timer)
            }))
        });
        let waker = || context.waker().clone();
        let by = match own {
            Some(Some(by)) => by,
            Some(None) => By::Sleeper(sleeper(when, waker())),
            None => By::Clock(when, clock().set(when, waker())),
        };
        Alarm { by }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        match self.by {
            By::Core(number, timer) => {
                if entered::with_core(number, |core| timer.remove(core)).is_none() {
                    let remove = Box::new(move |core: &Core| timer.remove(core));
                    mailbox::of(number).send(Message::Run(remove));
                }
            }
            By::Sleeper(co) => crate::cancel(co),
            By::Clock(when, number) => clock().forget(when, number),
        }
    }
}

fn sleeper(when: Time, waker: Waker) -> Co {
    let sleep = move || {
        crate::sleep(when.since(now()));
        user::wake_waker(waker);
    };
    let sleeps = match world::spawn_thread("alarm", sleep) {
        Ok(sleeps) => sleeps,
        Err(sleep) => spawn_local(sleep),
    };
    sleeps.co().expect("a core has whatever is spawned there")
}

/// The alarms of all executors that are not ours.
struct Clock {
    alarms: Mutex<Alarms>,
    bell: Bell,
}

struct Alarms {
    wakers: BTreeMap<(Time, u64), Waker>,
    next: u64,
}

fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    static IS_RUN: std::sync::Mutex<bool> = std::sync::Mutex::new(false);
    let clock = CLOCK.get_or_init(|| Clock {
        alarms: Mutex::new(Alarms { wakers: BTreeMap::new(), next: 0 }),
        bell: Bell::new(),
    });
    let mut is_run = user::lock(&IS_RUN);
    if !*is_run {
        let thread = std::thread::Builder::new().name("leno-clock".into());
        let started = thread.spawn(|| clock.run());
        *is_run = started.is_ok();
        drop(is_run);
        if let Err(error) = started {
            panic!("no thread for the alarms of other executors: {error}");
        }
    }
    clock
}

impl Clock {
    fn set(&self, when: Time, waker: Waker) -> u64 {
        let mut alarms = lock(&self.alarms);
        alarms.next += 1;
        let number = alarms.next;
        alarms.wakers.insert((when, number), waker);
        drop(alarms);
        self.bell.ring();
        number
    }

    fn forget(&self, when: Time, number: u64) {
        let waker = lock(&self.alarms).wakers.remove(&(when, number));
        user::discard(waker);
    }

    fn run(&self) {
        loop {
            let mut alarms = lock(&self.alarms);
            let first = alarms.wakers.first_key_value().map(|(key, _)| key.0);
            match first {
                None => {
                    drop(alarms);
                    self.bell.wait();
                }
                Some(when) if when <= now() => {
                    let due = alarms.wakers.pop_first();
                    drop(alarms);
                    due.into_iter().for_each(|(_, waker)| {
                        if leno_context::is_planted("clock-dies") {
                            return waker.wake();
                        }
                        user::wake_waker(waker);
                    });
                }
                Some(when) => {
                    drop(alarms);
                    self.bell.wait_for(when.since(now()));
                }
            }
        }
    }
}
