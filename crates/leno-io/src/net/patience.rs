//! What a server's loop does when the machine has run out of something: it says so once, waits,
//! longer each time, and tries again.

use core::time::Duration;
use std::io;

use leno_kernel::Exiting;

use super::exhausted::Exhausted;
use crate::time::{sleep, sleep_async};

const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// How long to wait before the next try; nothing if the last one succeeded.
    pause: Duration,
}

impl Patience {
    /// Waits, if the last try has failed.
    #[track_caller]
    pub(super) fn wait(&self) {
        if !self.pause.is_zero() {
            sleep(self.pause);
        }
    }

    pub(super) async fn wait_async(&self) {
        if !self.pause.is_zero() {
            sleep_async(self.pause).await;
        }
    }

    /// A try has come to this: whether to tell. That something has run out is told once, until a try
    /// succeeds again.
    pub(super) fn is_news<T>(&mut self, result: &io::Result<T>) -> bool {
        match result {
            Err(error) if Exhausted::of(error).is_some() => {
                let is_news = self.pause.is_zero();
                self.pause = (self.pause * 2).clamp(SHORTEST, LONGEST);
                is_news
            }
            Ok(_) => {
                self.pause = Duration::ZERO;
                true
            }
            Err(_) => true,
        }
    }
}

/// Whether the calling coroutine's stack unwinds, so that nothing will ever be accepted.
pub(super) fn is_exiting<T>(result: &io::Result<T>) -> bool {
    let inner = result.as_ref().err().and_then(io::Error::get_ref);
    inner.is_some_and(|error| error.is::<Exiting>())
}
