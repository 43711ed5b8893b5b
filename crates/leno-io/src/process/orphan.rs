//! Children whose handle was dropped before they ended.
//!
//! The system keeps what has become of a child until its parent asks. So someone has to, or it stays as a
//! zombie. An orphan is woken by the reactor that watches its pidfd, asks, and is gone. Until then it is
//! kept by the waker in that pidfd's line, which it owns: nobody else has it.

use core::task::{Context, Poll};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use leno_kernel::help;
use leno_kernel::io::{Descriptor, Interest};

use crate::user::lock;

struct Orphan {
    /// None once a helper waits for it.
    child: Mutex<Option<Child>>,
    pidfd: Descriptor<OwnedFd>,
}

/// Sees to it that the child leaves no zombie when it ends.
pub(super) fn adopt(mut child: Child, pidfd: Option<Descriptor<OwnedFd>>) {
    if child.try_wait().is_ok_and(|status| status.is_none()) {
        match pidfd {
            Some(pidfd) => Arc::new(Orphan { child: Mutex::new(Some(child)), pidfd }).watch(),
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
                    // No reactor: a thread that waits, then, without the lock.
                    let child = lock(&self.child).take();
                    return child.into_iter().for_each(wait_for);
                }
            }
        }
    }

    fn has_ended(&self) -> bool {
        let mut child = lock(&self.child);
        !child.as_mut().is_some_and(|child| matches!(child.try_wait(), io::Result::Ok(None)))
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.watch();
    }
}
