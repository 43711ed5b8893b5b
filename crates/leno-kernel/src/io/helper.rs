//! Watches descriptors for those who have no core: futures on other executors, threads in a select.
//!
//! One thread for the whole process, which starts at the first such wait and sleeps whenever nothing
//! happens. A thread that waits for a single descriptor does not need it: it asks the system.

use std::io;
use std::sync::{Arc, Mutex};

use super::reactor::{Inner, Reactor};
use crate::bell::Sleeper;
use crate::user;

static HELPER: Mutex<Option<Arc<Inner>>> = Mutex::new(None);

/// The helper's reactor.
pub(super) fn reactor() -> io::Result<Arc<Inner>> {
    let mut helper = user::lock(&HELPER);
    if let Some(reactor) = &*helper {
        return Ok(reactor.clone());
    }
    let reactor = Reactor::new()?.0;
    let own = reactor.clone();
    std::thread::Builder::new().name("leno-reactor".into()).spawn(move || run(&own))?;
    *helper = Some(reactor.clone());
    Ok(reactor)
}

fn run(reactor: &Inner) {
    loop {
        reactor.sleep(None);
        // Whoever is woken may be anyone's code. If it panics, the next sleep ends at once, and the others are served.
        if let Err(panic) = user::call(|| reactor.serve()) {
            user::failed("a waker", panic);
        }
    }
}
