//! Children whose handle was dropped before they ended.
//!
//! The system keeps what has become of a child until its parent asks. So someone has to, or it stays as a
//! zombie. An orphan is woken by the reactor that watches its pidfd, asks, and is gone. Until then it is
//! kept by the waker in that pidfd's line, which it owns: nobody else has it.

use core::task::{Context, Poll};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use leno_kernel::help;
use leno_kernel::io::{Descriptor, Interest};

struct Orphan {
    child: Mutex<Child>,
    pidfd: Descriptor<OwnedFd>,
}

/// Sees to it that the child leaves no zombie when it ends.
pub(super) fn adopt(mut child: Child, pidfd: Option<Descriptor<OwnedFd>>) {
    if child.try_wait().is_ok_and(|status| status.is_none()) {
        match pidfd {
            Some(pidfd) => Arc::new(Orphan { child: Mutex::new(child), pidfd }).watch(),
            None => wait_for(child),
        }
    }
}

/// A helper waits for as long as it takes.
fn wait_for(mut child: Child) {
    help(move || drop(child.wait()));
}

impl Orphan {
    /// Asks whether it has ended; if not, asks again when it has.
    fn watch(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut context = Context::from_waker(&waker);
        while !self.has_ended() {
            match self.pidfd.poll_ready(&mut context, Interest::READ) {
                Poll::Pending => return,
                Poll::Ready(Ok(seen)) if !self.has_ended() => {
                    self.pidfd.clear(seen, Interest::READ);
                }
                Poll::Ready(Ok(_)) => return,
                Poll::Ready(Err(_)) => {
                    // No reactor: a thread that waits, then.
                    let orphan = self.clone();
                    let wait = move || drop(orphan.child().wait());
                    return help(wait);
                }
            }
        }
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        !matches!(self.child().try_wait(), io::Result::Ok(None))
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.watch();
    }
}
