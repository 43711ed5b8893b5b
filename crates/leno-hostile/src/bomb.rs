//! Values, wakers, futures and policies that run a script wherever they are called.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use leno::kernel::Co;
use leno::kernel::policy::{Choice, Policy, Ready};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::canary::Canary;
use crate::rng::Rng;
use crate::world::{self, Cx};

/// Where a [`Bomb`] is called.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Hook {
    /// `Drop`.
    Drop,
    /// `Clone`.
    Clone,
    /// `PartialEq`.
    Eq,
    /// `Display` and `Debug`.
    Show,
    /// `Serialize` and `Deserialize`.
    Serde,
    /// `Wake`.
    Wake,
    /// A poll of a future.
    Poll,
    /// A method of a policy.
    Policy,
    /// A body or closure.
    Body,
}

/// A value that misbehaves.
pub struct Bomb {
    canary: Canary,
    plan: u8,
}

impl Bomb {
    /// Makes one: `plan` decides which of its hooks run which script.
    pub fn new(plan: u8) -> Bomb {
        Bomb { canary: Canary::new(), plan }
    }

    /// Returns what it was made from.
    pub fn plan(&self) -> u8 {
        self.plan
    }

    /// Checks that it lives.
    pub fn check(&self) {
        self.canary.check();
    }

    /// Runs the script of a hook, if it has one.
    pub fn fire(&self, hook: Hook) {
        self.check();
        fire(self.plan, hook);
    }
}

/// Returns the script that a plan has for a hook.
fn script(plan: u8, hook: Hook) -> Option<u8> {
    // A third behaves in each hook, and one in 16 everywhere.
    let bits = Rng::new(u64::from(plan) << 8 | hook as u64).number();
    (plan % 16 != 0 && bits % 3 != 0).then_some((bits >> 8) as u8)
}

fn fire(plan: u8, hook: Hook) {
    if let Some(script) = script(plan, hook) {
        if std::thread::panicking() {
            world::run_quietly(&Cx::default(), script);
        } else {
            world::run(&Cx::default(), script);
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.fire(Hook::Drop);
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Bomb {
        self.fire(Hook::Clone);
        Bomb::new(self.plan)
    }
}

impl PartialEq for Bomb {
    fn eq(&self, other: &Bomb) -> bool {
        self.fire(Hook::Eq);
        self.plan == other.plan
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fire(Hook::Show);
        write!(f, "bomb {}", self.plan)
    }
}

impl fmt::Debug for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Bomb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fire(Hook::Serde);
        serializer.serialize_u8(self.plan)
    }
}

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bomb, D::Error> {
        let plan = u8::deserialize(deserializer)?;
        fire(plan.wrapping_add(1), Hook::Serde);
        Ok(Bomb::new(plan))
    }
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        self.fire(Hook::Wake);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.fire(Hook::Wake);
    }
}

/// Returns a waker that misbehaves.
pub fn waker(z: u8) -> Waker {
    Waker::from(Arc::new(Bomb::new(z)))
}

/// A future that is ready after a few polls.
pub struct Later {
    bomb: Bomb,
    polls: u8,
}

impl Later {
    /// Makes one.
    pub fn new(y: u8, z: u8) -> Later {
        Later { bomb: Bomb::new(z), polls: y % 4 }
    }
}

impl Future for Later {
    type Output = Bomb;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Bomb> {
        self.bomb.fire(Hook::Poll);
        if self.polls == 0 {
            return Poll::Ready(Bomb::new(self.bomb.plan.wrapping_add(1)));
        }
        self.polls -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A policy that misbehaves as long as there is fuel, and is first in, first out besides.
pub struct Rule {
    bomb: Bomb,
    queue: VecDeque<Co>,
    last: Option<Co>,
    turns: u64,
}

impl Rule {
    /// Makes one.
    pub fn new(z: u8) -> Rule {
        Rule { bomb: Bomb::new(z), queue: VecDeque::new(), last: None, turns: 0 }
    }

    fn misbehaves(&mut self, one_in: u64) -> bool {
        self.turns += 1;
        world::has_fuel()
            && Rng::new(u64::from(self.bomb.plan) << 32 | self.turns)
                .number()
                .is_multiple_of(one_in)
    }
}

impl Policy for Rule {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.queue.push_back(ready.co);
        if self.misbehaves(8) {
            self.queue.push_back(ready.co);
        }
        if self.misbehaves(4) {
            self.bomb.fire(Hook::Policy);
        }
    }

    fn pick(&mut self) -> Option<Co> {
        if self.misbehaves(8) {
            self.bomb.fire(Hook::Policy);
        }
        if self.misbehaves(16) {
            return self.last;
        }
        self.last = self.queue.pop_front();
        self.last
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let _ = choice;
        if self.misbehaves(4) { usize::MAX } else { 0 }
    }

    fn forget(&mut self, co: Co) {
        if self.misbehaves(8) {
            self.bomb.fire(Hook::Policy);
        }
        if !self.misbehaves(8) {
            self.queue.retain(|other| *other != co);
        }
    }

    fn name(&self) -> &str {
        self.bomb.check();
        "hostile"
    }
}
