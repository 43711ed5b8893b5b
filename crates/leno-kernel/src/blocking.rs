//! Closures that block, on helper threads.
//!
//! Helpers are shared by the whole process. One is started when a closure waits and none is free, up
//! to [`MOST`]; one that has had nothing to do for ten seconds ends.

use core::cell::RefCell;
use core::time::Duration;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex};

use leno_coroutine::Local;

use crate::raw::entered;
use crate::system::Team;
use crate::user::{self, Locked, Panic};
use crate::wait::{self, Waiter, Wake};
use crate::{Reason, can_park, heritage, world};

/// How many helpers there are at most.
const MOST: usize = 256;
const PATIENCE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    state: Mutex<State>,
    more: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    helpers: usize,
    free: usize,
}

static POOL: Pool = Pool {
    state: Mutex::new(State { jobs: VecDeque::new(), helpers: 0, free: 0 }),
    more: Condvar::new(),
};

/// Runs a closure that blocks on a helper thread, and parks the calling coroutine until it is done;
/// others of its core run meanwhile. On a plain thread the closure is simply called.
///
/// # Cancellation
/// A closure that has begun cannot be stopped: the calling coroutine waits for its end and exits
/// then. One that has not begun is dropped. While the coroutine's own stack unwinds, so in a destructor, the closure is
/// called in place, and blocks the core.
///
/// # Panics
/// With the panic of the closure; inside a future that a core polls.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, blocking};
///
/// let system = LocalSystem::new();
/// let text = system.spawn(|| blocking(|| std::fs::read_to_string("/proc/self/comm")));
/// system.run()?;
/// assert!(text.join()?.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    if wait::current().is_none() {
        return f();
    }
    let waiter = Waiter::current();
    if !can_park() {
        return f();
    }
    let (heritage, teams) = (heritage::current(), teams());
    let f = move || {
        let _served = Served::begin(teams);
        heritage::with(heritage, f)
    };
    let call = Arc::new(Call { state: Mutex::new(Stage::Waiting(f)), waiter });
    let job = call.clone();
    help(move || job.run());
    let mut is_to_exit = false;
    loop {
        if let Some(result) = call.result() {
            if is_to_exit {
                wait::exit();
            }
            return result.unwrap_or_else(|payload| resume_unwind(payload));
        }
        match if is_to_exit {
            wait::park_deaf(Reason::Blocking)
        } else {
            wait::park(Reason::Blocking)
        } {
            Wake::Exit if call.withdraw() => {
                wait::exit();
                panic!("a blocking call while the coroutine's own stack unwinds");
            }
            Wake::Exit => is_to_exit = true,
            _ => {}
        }
    }
}

/// The teams whose cores wait for the closure that a thread runs for one of their coroutines.
static SERVED: Local<RefCell<Vec<Arc<Team>>>> = Local::new(RefCell::default);

/// Puts back what was served before.
struct Served(Vec<Arc<Team>>);

impl Served {
    fn begin(teams: Vec<Arc<Team>>) -> Served {
        Served(SERVED.with(|served| served.replace(teams)))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let before = core::mem::take(&mut self.0);
        drop(SERVED.with(|served| served.replace(before)));
    }
}

/// The teams that do not go on while the calling code blocks.
pub(crate) fn teams() -> Vec<Arc<Team>> {
    let mut teams = entered::teams();
    teams.extend(SERVED.with(|served| served.borrow().clone()));
    teams
}

/// Has a helper thread run a closure, and does not wait for it; in a world, a thread of that one. For
/// those who build on the kernel, and tell whoever waits by other means, such as a shared channel.
///
/// If it panics, [`user::on_failure`] is told.
///
/// # Examples
/// ```
/// let (done, is_done) = std::sync::mpsc::channel();
/// leno_kernel::help(move || done.send("by a helper").unwrap());
/// assert_eq!(is_done.recv(), Ok("by a helper"));
/// ```
pub fn help(job: impl FnOnce() + Send + 'static) {
    if let Err(job) = world::spawn_thread("helper", job) {
        POOL.add(Box::new(job));
    }
}

struct Call<F, T> {
    state: Mutex<Stage<F, T>>,
    waiter: Waiter,
}

enum Stage<F, T> {
    Waiting(F),
    /// It runs, or was withdrawn, or its result was taken.
    Empty,
    Done(std::thread::Result<T>),
}

impl<F: FnOnce() -> T, T> Call<F, T> {
    fn stage(&self) -> Locked<'_, Stage<F, T>> {
        user::lock(&self.state)
    }

    fn run(&self) {
        let taken = core::mem::replace(&mut *self.stage(), Stage::Empty);
        let Stage::Waiting(f) = taken else { return };
        let result = user::call(f).map_err(Panic::into_payload);
        *self.stage() = Stage::Done(result);
        self.waiter.clone().wake();
    }

    fn result(&self) -> Option<std::thread::Result<T>> {
        let mut stage = self.stage();
        match core::mem::replace(&mut *stage, Stage::Empty) {
            Stage::Done(result) => Some(result),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Takes it back, unless it has begun.
    fn withdraw(&self) -> bool {
        let mut stage = self.stage();
        if !matches!(*stage, Stage::Waiting(_)) {
            return false;
        }
        let closure = core::mem::replace(&mut *stage, Stage::Empty);
        drop(stage);
        user::discard(closure);
        true
    }
}

/// Runs a job. Whoever waits for it learns of a panic by other means; a helper outlives it.
fn run(job: Job) {
    if leno_context::is_planted("helper-dies") {
        return job();
    }
    if let Err(panic) = user::call(job) {
        user::failed("a job of the helper threads", panic);
    }
}

impl Pool {
    fn state(&self) -> Locked<'_, State> {
        user::lock(&self.state)
    }

    fn add(&'static self, job: Job) {
        let mut state = self.state();
        state.jobs.push_back(job);
        if state.free >= state.jobs.len() || state.helpers == MOST {
            drop(state);
            return self.more.notify_one();
        }
        state.helpers += 1;
        drop(state);
        let helper = std::thread::Builder::new().name("leno-helper".to_owned());
        if helper.spawn(|| self.help()).is_err() {
            let mut state = self.state();
            state.helpers -= 1;
            if state.helpers == 0 {
                // Nobody else would do it.
                let jobs = core::mem::take(&mut state.jobs);
                drop(state);
                jobs.into_iter().for_each(run);
            }
        }
    }

    /// What a helper does.
    fn help(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                run(job);
                state = self.state();
                continue;
            }
            state.free += 1;
            let is_over;
            (state, is_over) = state.wait_timeout(&self.more, PATIENCE);
            state.free -= 1;
            if is_over && state.jobs.is_empty() {
                state.helpers -= 1;
                return;
            }
        }
    }
}
