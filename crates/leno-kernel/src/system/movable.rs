//! A movable future: one that any core of its team may poll, at any time.
//!
//! It is an object of its own, and its waker is a reference to it. While it waits it is nowhere but
//! in the list of its team ([`super::movables`]); whoever wakes it puts it on a pile, from which a
//! core takes it for one turn. So it has no home that could be busy.
//!
//! # Protocol: it is polled by one core at a time, and no wake-up is lost
//! One word, changed by read-modify-write operations only, each of which both acquires and releases:
//! ```text
//!   the bits       it is
//!   none           idle: whoever wakes it next queues it
//!   WOKEN          queued: on a pile, or in the hands of whoever puts it there or takes it
//!   RUNNING        polled by a core
//!   RUNNING WOKEN  polled, and woken meanwhile
//!   DONE           ended; for ever
//!
//!   wake                                    a turn, by whoever has it from a pile
//!   W1  set WOKEN                           T1  clear WOKEN, set RUNNING
//!   W2  if it was idle: put it on a pile    T2  poll; if it has ended: set DONE, over
//!                                           T3  clear RUNNING; if WOKEN was set: put it on a pile
//! ```
//! Who meets whom:
//! - *Wake against wake*: one of them finds it idle, so it is on one pile, once.
//! - *Wake against poll*: W1 comes before T1, and then the poll sees what came before the wake; or
//!   between T1 and T3, and then T3 queues it again; or after T3, and then it was idle. The race it
//!   must win is a wake between the end of T2 and T3; T3 is one operation, so there is no gap.
//! - *Cancel against poll*: cancelling is waking with EXIT set as well. The next T1 sees it, and T2
//!   drops the future instead of polling it. Only a turn ever touches the future.
//! - *The end of the system against wake*: stopping cancels everyone, and the cores stay until all
//!   have ended. A waker that is left finds DONE and does nothing; what it refers to is an empty
//!   shell.
//!
//! EXIT and STARTED are set and never cleared.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::task::{Wake, Waker};

use crate::core::About;
use crate::join::Adoption;
use crate::options::{Launch, Start};
use crate::policy::Hint;
use crate::report::Alive;
use crate::sync::{
    AtomicU64, AtomicUsize, Mutex,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    lock,
};
use crate::user::{self, Panic};
use crate::{Co, Reason, State, Time};

const WOKEN: usize = 1;
const RUNNING: usize = 2;
const EXIT: usize = 4;
const STARTED: usize = 8;
const DONE: usize = 16;

/// See the module.
pub(crate) struct Movable {
    pub(crate) co: Co,
    pub(crate) about: About,
    pub(crate) hint: Hint,
    /// Whether a log has heard of it.
    pub(crate) is_announced: bool,
    word: AtomicUsize,
    /// When it last began to wait, or was made.
    since: AtomicU64,
    /// Never waited for: only whoever has the turn locks it, and takes it out meanwhile. Empty when it has
    /// ended.
    body: Mutex<Option<Body>>,
}

pub(crate) struct Body {
    pub(crate) future: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Held until the end: whoever fills it counts those who know it.
    pub(crate) adoption: Arc<dyn Adoption + Send + Sync>,
}

/// How a turn has ended.
pub(crate) enum Turn {
    /// It waits. If it was woken meanwhile, the caller must put it on a pile.
    Parked { woken: bool },
    /// It has ended. Perhaps a destructor has panicked, with this.
    Ended(Option<Panic>),
}

impl Movable {
    /// One that is queued, in the hands of the caller; or idle, if it is to start later.
    pub(crate) fn new(
        co: Co,
        about: About,
        launch: Launch,
        is_announced: bool,
        body: Body,
    ) -> Movable {
        body.adoption.adopted(co);
        let since = about.born.as_nanos();
        let word = if matches!(launch.start, Start::Idle | Start::Lazy) { 0 } else { WOKEN };
        Movable {
            co,
            about,
            hint: launch.hint,
            is_announced,
            word: AtomicUsize::new(word),
            since: AtomicU64::new(since),
            body: Mutex::new(Some(body)),
        }
    }

    /// Wakes it; whether the caller must put it on a pile.
    #[must_use = "it is on no pile, and nobody else puts it there"]
    pub(crate) fn rouse(&self) -> bool {
        self.set(WOKEN)
    }

    /// Makes it exit; whether the caller must put it on a pile.
    #[must_use = "it is on no pile, and nobody else puts it there"]
    pub(crate) fn cancel(&self) -> bool {
        self.set(WOKEN | EXIT)
    }

    fn set(&self, bits: usize) -> bool {
        let old = self.word.fetch_or(bits, AcqRel);
        old & (WOKEN | RUNNING | DONE) == 0
    }

    /// Whether it has never been polled.
    pub(crate) fn is_new(&self) -> bool {
        self.word.load(Acquire) & STARTED == 0
    }

    /// Whether it is to exit.
    pub(crate) fn exits(&self) -> bool {
        self.word.load(Acquire) & EXIT != 0
    }

    pub(crate) fn set_since(&self, now: Time) {
        self.since.store(now.as_nanos(), Relaxed);
    }

    /// How it is shown; `None` if it has ended. `others` are references that are not wakers.
    pub(crate) fn look(self: &Arc<Self>, others: usize) -> Option<Alive> {
        let state = self.state()?;
        let is_parked = matches!(state, State::New | State::Parked(_));
        Some(Alive {
            co: self.co,
            name: self.about.name.clone(),
            state,
            since: Time::from_nanos(self.since.load(Relaxed)),
            site: self.about.site,
            born: self.about.born,
            is_future: true,
            exits: self.exits().then_some(0),
            wakers: if is_parked { Arc::strong_count(self) - others } else { 0 },
            sign: None,
            known_to: Vec::new(),
            backtrace: None,
        })
    }

    /// What it is doing; `None` if it has ended.
    pub(crate) fn state(&self) -> Option<State> {
        let word = self.word.load(Acquire);
        Some(match word & (WOKEN | RUNNING | DONE) {
            0 if word & STARTED == 0 => State::New,
            0 => State::Parked(Reason::Future),
            WOKEN => State::Ready,
            bits if bits & DONE == 0 => State::Running,
            _ => return None,
        })
    }

    /// Polls it, or drops it if it is to exit. The caller has it from a pile.
    pub(crate) fn turn(self: &Arc<Self>) -> Turn {
        let old = self.word.fetch_xor(WOKEN | RUNNING, AcqRel);
        debug_assert_eq!(old & (WOKEN | RUNNING | DONE), WOKEN, "whoever has its turn was queued");
        if old & STARTED == 0 {
            self.word.fetch_or(STARTED, AcqRel);
        }
        // Not locked while it is polled: that is user code.
        let mut body = lock(&self.body).take().expect("it has not ended");
        let mut panicked = None;
        if old & EXIT == 0 {
            let waker = Waker::from(self.clone());
            let context = &mut Context::from_waker(&waker);
            match user::call(|| body.future.as_mut().poll(context)) {
                Ok(Poll::Pending) => {
                    *lock(&self.body) = Some(body);
                    return Turn::Parked { woken: self.pause() };
                }
                Ok(Poll::Ready(())) => {}
                // What its end has called has panicked: it has ended all the same.
                Err(panic) => panicked = Some(panic),
            }
        }
        let dropped = user::try_dispose(body);
        self.word.fetch_or(DONE, AcqRel);
        Turn::Ended(user::first(panicked, dropped.err()))
    }

    /// T3; whether it was woken.
    fn pause(&self) -> bool {
        if leno_context::is_planted("movable") {
            let old = self.word.load(Acquire);
            self.word.store(old & !RUNNING, Release);
            return old & WOKEN != 0;
        }
        self.word.fetch_and(!RUNNING, AcqRel) & WOKEN != 0
    }

    /// Ends it, when no core is left that could.
    pub(crate) fn drop_body(&self) {
        self.word.fetch_or(DONE, AcqRel);
        let body = lock(&self.body).take();
        user::discard(body);
    }
}

impl Wake for Movable {
    fn wake(self: Arc<Self>) {
        if self.rouse() {
            super::put_on_pile(self);
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.rouse() {
            super::put_on_pile(self.clone());
        }
    }
}
