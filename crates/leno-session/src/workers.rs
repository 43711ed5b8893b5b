//! Workers on threads of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use leno_context::user::{self, Panic};

use crate::caught::said;
use crate::error::SessionError;
use crate::sessions::Sessions;

/// Workers of this process. Dropping this drains them, as [`Workers::drain`] does.
#[derive(Debug)]
pub struct Workers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), SessionError>>>,
}

impl Sessions {
    /// Starts workers, each on a thread of its own, where steps run.
    ///
    /// They outlive what steps and the store raise. One that ends early all the same, because of an error of the store
    /// that does not pass, is seen by [`Workers::running`] and [`Sessions::health`], and told by [`Workers::drain`].
    ///
    /// # Panics
    /// If the system refuses a thread. Those that were started end.
    pub fn workers(&self, count: usize) -> Workers {
        let mut workers = Workers { stop: Arc::default(), threads: Vec::with_capacity(count) };
        for n in 0..count {
            let (sessions, stop) = (self.clone(), workers.stop.clone());
            let thread = thread::Builder::new().name(format!("session worker {n}"));
            let work = move || {
                let worked = sessions.work(&stop);
                // It may be the last one that has the store, and what steps were provided with.
                user::dispose(sessions);
                worked
            };
            let thread = thread.spawn(work).expect("the system has a thread for a worker");
            workers.threads.push(thread);
        }
        workers
    }
}

impl Workers {
    /// How many have not ended.
    pub fn running(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_finished()).count()
    }

    /// Lets all workers finish what they have in hand, store it, and end.
    ///
    /// # Errors
    /// What a worker ended with earlier, if one did.
    pub fn drain(mut self) -> Result<(), SessionError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), SessionError> {
        self.stop.store(true, Relaxed);
        let ends = self.threads.drain(..).map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| Err(SessionError::Worker(said(Panic::new(panic)))))
        });
        // All of them, whatever one of them says.
        ends.fold(Ok(()), Result::and)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let _ended = self.end();
    }
}
