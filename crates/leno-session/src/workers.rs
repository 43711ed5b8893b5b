//! Workers on threads of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

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
    /// # Panics
    /// If the system refuses a thread.
    pub fn workers(&self, count: usize) -> Workers {
        let stop = Arc::new(AtomicBool::new(false));
        let worker = |n| {
            let (sessions, stop) = (self.clone(), stop.clone());
            let thread = thread::Builder::new().name(format!("session worker {n}"));
            thread
                .spawn(move || sessions.work(&stop))
                .expect("the system has a thread for a worker")
        };
        let threads = (0..count).map(worker).collect();
        Workers { stop, threads }
    }
}

impl Workers {
    /// Lets all workers finish what they have in hand, store it, and end.
    ///
    /// # Errors
    /// What a worker ended with earlier, if one did.
    pub fn drain(mut self) -> Result<(), SessionError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), SessionError> {
        self.stop.store(true, Relaxed);
        let ends = self.threads.drain(..).map(|thread| thread.join().unwrap_or(Ok(())));
        // All of them, whatever one of them says.
        ends.fold(Ok(()), Result::and)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let _ended = self.end();
    }
}
