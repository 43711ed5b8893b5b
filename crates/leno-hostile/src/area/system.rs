//! Systems with threads of their own, helpers, the clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use leno::kernel::{self, JoinHandle, Options, Reason, System};

use crate::area::{Act, kernel::body};
use crate::bomb::{self, Bomb, Later, Rule};
use crate::canary::violation;
use crate::world::{self, Cx, Payload};

/// The operations.
pub const ACTS: &[Act] = &[
    ("system", system),
    ("system_spawn", spawn),
    ("system_spawn", spawn),
    ("system_spawn", spawn),
    ("system_future", future),
    ("system_join", join),
    ("system_poll_join", poll_join),
    ("system_cancel", cancel),
    ("system_report", report),
    ("system_shutdown", shutdown),
    ("system_drop_inside", drop_inside),
    ("system_outlives", outlives),
    ("try_spawn", try_spawn),
    ("respawn", respawn),
    ("help", help),
    ("help_often", help_often),
    ("blocking", blocking),
    ("sleep", sleep),
    ("sleep_future", sleep_future),
];

type Handle = Mutex<Option<JoinHandle<Bomb>>>;

fn keep(x: u8, handle: JoinHandle<Bomb>) {
    world::share::<Handle>(x, Mutex::new(Some(handle)));
}

fn take(x: u8) -> Option<JoinHandle<Bomb>> {
    let handle = world::shared::<Handle>(x)?;
    handle.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn system(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let mut builder = System::builder().cores(1 + usize::from(y % 2));
    if y % 4 == 0 {
        builder = builder.policy(move |_| Rule::new(z));
    }
    if let Ok(system) = builder.build() {
        world::share(x, system);
    }
}

fn some_system(x: u8) -> Arc<System> {
    world::shared(x).unwrap_or_else(|| world::share(x, System::new(2).expect("there are threads")))
}

fn spawn(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let captured = Bomb::new(z);
    let options = Options::new().stack_size(128 << 10);
    let handle = some_system(x).spawn_with(&options, move || {
        captured.check();
        body(&Cx::default(), y, z)
    });
    match y % 3 {
        0 => drop(handle),
        _ => keep(x, handle),
    }
}

fn future(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let handle = some_system(x).spawn_future(Later::new(y, z));
    match y % 3 {
        0 => drop(handle),
        _ => keep(x, handle),
    }
}

fn join(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(handle) = take(x) {
        match handle.join_timeout(Duration::from_millis(1)) {
            Ok(result) => drop(result.map_err(|error| error.to_string())),
            Err(handle) => keep(x, handle),
        }
    }
}

fn poll_join(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Some(handle) = take(x) {
        let mut handle = Box::pin(handle);
        drop(handle.as_mut().poll(&mut Context::from_waker(&bomb::waker(z))));
        world::share(x, Mutex::new(handle));
    }
}

fn cancel(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(handle) = take(x) {
        handle.cancel();
        keep(x, handle);
    }
}

fn report(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    // Seldom: it waits a second for a core that is busy, such as one that runs the calling code.
    if z % 16 == 0
        && let Some(system) = world::shared::<System>(x)
    {
        drop(system.report());
        drop(system.dump(leno::kernel::dump::Depth::States).to_string());
    }
}

fn shutdown(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    // Only if nobody else has it; else it ends with its last handle.
    if let Some(system) = world::shared::<System>(x)
        && let Some(system) = Arc::into_inner(system)
    {
        drop(system.shutdown(Duration::from_millis(1)));
    }
}

/// A future that is ready at once; its `Drop` panics.
struct Ready(#[allow(dead_code, reason = "its `Drop` counts")] Payload);

impl Future for Ready {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// A core drops a result, a closure or a future whose `Drop` panics. One that does not answer after that hangs.
fn outlives(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    world::spend(5);
    let Ok(system) = System::new(1) else { return };
    match y % 3 {
        0 => drop(system.spawn(|| Payload)),
        1 => drop(system.spawn_future(Ready(Payload))),
        _ => {
            let captured = Payload;
            let handle = system.spawn(move || drop(captured));
            handle.cancel();
        }
    }
    let _ = system.spawn(|| 5).join();
}

/// A system whose last handle is dropped by a coroutine or a future of its own. One that waits for itself hangs.
fn drop_inside(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    let Ok(system) = System::new(1 + usize::from(y % 2)) else { return };
    let own = Arc::new(Mutex::new(None::<System>));
    let (done, is_done) = std::sync::mpsc::channel();
    let inside = own.clone();
    let is_dropped = move || {
        let taken = inside.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_there = taken.is_some();
        drop(taken);
        is_there && done.send(()).is_ok()
    };
    if y % 4 < 2 {
        drop(system.spawn(move || {
            while !is_dropped() {
                kernel::yield_now();
            }
        }));
    } else {
        drop(system.spawn_future(std::future::poll_fn(move |context| {
            if is_dropped() {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })));
    }
    *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(system);
    let _ = is_done.recv();
}

fn try_spawn(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if kernel::current().is_none() {
        return;
    }
    let captured = Bomb::new(z);
    let options = Options::new().stack_size(128 << 10);
    let made = kernel::try_spawn(&options, move || {
        captured.check();
        body(&Cx::default(), y, z)
    });
    if let Ok(handle) = made {
        keep(x, handle);
    }
}

/// A worker's guard that starts it anew, as supervisors do.
struct Restart;

impl Drop for Restart {
    fn drop(&mut self) {
        world::quietly(|| drop(kernel::try_spawn(&Options::new(), worker)));
    }
}

fn worker() {
    let _restart = Restart;
    loop {
        if kernel::park(Reason::Blocking) == kernel::Wake::Exit {
            kernel::exit();
        }
        if !world::has_fuel() {
            return std::mem::forget(_restart);
        }
    }
}

fn respawn(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    drop(some_system(x).spawn(worker));
}

fn help(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    let captured = Bomb::new(z);
    kernel::help(move || {
        captured.check();
        world::run(&Cx::default(), z);
    });
}

/// So many jobs that panic that a few times as many would leave no helper, if helpers ended by that.
fn help_often(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    for _ in 0..64 {
        kernel::help(|| panic!("a job panics"));
    }
}

fn blocking(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    let captured = Bomb::new(z);
    let answer = kernel::blocking(move || {
        captured.check();
        world::run(&Cx::default(), z);
        Bomb::new(z)
    });
    answer.check();
}

fn sleep(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    if kernel::can_park() && !std::thread::panicking() {
        kernel::sleep(Duration::from_micros(50));
    }
}

type Sleep = Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// A sleep outside of systems, on the clock's thread, that wakes a hostile waker.
fn sleep_future(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    let future = leno::io::time::sleep_async(Duration::from_micros(200));
    let future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        future.await;
    });
    let kept = world::share::<Sleep>(x, Mutex::new(future));
    let mut future = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
}

/// Asks the systems that are left for an answer: their cores outlive whatever was done to them.
pub fn probe() {
    for x in 0..4 {
        let Some(system) = world::shared::<System>(x) else { return };
        // A core that does not answer is a hang.
        match world::quietly(|| system.spawn(|| 5).join()) {
            Some(Ok(5)) => {}
            other => violation(&format!("a system answers {other:?}")),
        }
    }
}
