//! The threads of a world.

use core::any::Any;
use core::panic::Location;
use std::sync::Arc;

use leno_context::unwind;

use super::ending::text_of;
use super::{Trouble, UNWOUND, World, is_near};
use crate::core::Body;
use crate::join::{Ended, Filler, Packet};
use crate::options::{Options, Start};
use crate::raw::closure::Closure;
use crate::raw::stack::with_locals;
use crate::raw::world as raw;
use crate::user::{self, Panic};
use crate::{JoinHandle, Name, Outcome};

/// Threads need more room than coroutines.
const STACK: usize = 256 << 10;

/// The first thread.
pub(super) fn begin(world: &World, main: impl FnOnce() + 'static) {
    drop(add(world, "main".into(), Location::caller(), main));
}

/// Spawns a thread into the world of the calling code; `None` outside a world.
#[track_caller]
pub fn spawn<T: Send + 'static>(
    name: impl Into<Name>,
    f: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    // Code of a user, which may suspend the calling code: nothing refers to the world meanwhile.
    let (name, site) = (name.into(), Location::caller());
    super::plain_point();
    raw::with(|world| add(world, name, site, f))
}

/// The same for the kernel's own threads.
pub(crate) fn spawn_thread(
    name: &str,
    f: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, impl FnOnce() + Send + 'static> {
    if !is_near() || !super::is_here() {
        return Err(f);
    }
    let name: Name = name.to_owned().into();
    let spawned = raw::with(|world| add(world, name, Location::caller(), f));
    Ok(spawned.expect("this thread runs a world"))
}

fn add<T: 'static>(
    world: &World,
    name: Name,
    site: &'static Location<'static>,
    f: impl FnOnce() -> T + 'static,
) -> JoinHandle<T> {
    let core = &world.core;
    let options = Options::new().name(name.clone()).stack_size(STACK);
    let packet = Packet::new(core.system(), Start::Ready);
    let filler = Filler::new(packet.clone());
    let body = Body::Closure(Closure::new(move || {
        let result = user::call(|| with_locals(f)).map_err(Panic::into_payload);
        finish(filler, result);
    }));
    let about = options.about(core.roughly_now(), site);
    let adoption: Arc<Packet<T>> = packet.clone();
    if let Err(error) = core.spawn(about, body, options.launch(false), adoption) {
        panic!("{error}");
    }
    JoinHandle::new(packet, name)
}

fn finish<T>(filler: Filler<T>, result: std::thread::Result<T>) {
    let (outcome, result) = match result {
        Ok(value) => (Outcome::Returned, Ok(value)),
        Err(payload) if unwind::is_exit(&*payload) => (UNWOUND, Err(Ended::Otherwise(UNWOUND))),
        Err(payload) => (Outcome::Panicked, Err(Ended::Panicked(payload))),
    };
    // Nobody asks how a core's own thread ended.
    let is_core = raw::with_running(|inside| inside.task.masked.get() > 0) == Some(true);
    if let Err(Ended::Panicked(payload)) = &result
        && is_core
    {
        fail(&**payload);
    }
    // A waker is user code. An exit that is raised there has nothing left to unwind.
    let unclaimed = user::call(|| filler.finish(result)).unwrap_or_else(|exit| {
        drop(exit);
        None
    });
    if let Some(payload) = unclaimed {
        fail(&*payload);
        drop(Panic::new(payload));
    }
    raw::with(|world| world.core.endings.set(Some(outcome)));
}

/// The running thread has panicked.
fn fail(payload: &(dyn Any + Send)) {
    let who = raw::with_running(|inside| {
        let name = inside.task.about.borrow().name.clone();
        format!("thread '{}'", name.as_str().unwrap_or("?"))
    });
    raw::with(|world| {
        let who = who.unwrap_or_else(|| "a thread".to_owned());
        world.fail(Trouble::Panicked { who, what: text_of(payload) });
        world.end();
    });
}

/// Whether a place is where the kernel itself makes threads of a world, of which programs know nothing.
pub fn is_own_place(site: &Location<'_>) -> bool {
    site.file() == file!()
}

/// A report without such places.
pub(super) fn without_own_places(report: &str) -> String {
    let own = concat!(", spawned at ", file!(), ":");
    let lines = report.lines().map(|line| line.split(own).next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Stops the world of the calling code: something is wrong. Outside a world it panics.
#[track_caller]
pub fn trouble(trouble: Trouble) {
    let stopped = is_near()
        && raw::with(|world| {
            world.fail(trouble.clone());
            world.end();
        })
        .is_some();
    assert!(stopped, "{trouble}");
    super::plain_point();
}
