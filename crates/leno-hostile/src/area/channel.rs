//! Channels, select, timers, locks; of one thread and of several.

use std::future::Future;
use std::sync::Mutex as StdMutex;
use std::task::Context;
use std::time::Duration;

use leno::channel::{
    self, Condition, Mutex, Receiver, Select, Semaphore, Sender, Shared, WaitGroup,
};
use leno::kernel;

use crate::area::{Act, source};
use crate::bomb::{self, Bomb};
use crate::canary::violation;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("channel", open),
    ("shared_channel", open_shared),
    ("send", send),
    ("send", send),
    ("recv", recv),
    ("recv", recv),
    ("poll_recv", poll_recv),
    ("poll_recv", poll_recv),
    ("poll_send", poll_send),
    ("close", close),
    ("close_wakes_all", close_wakes_all),
    ("channel_look", look),
    ("select", select),
    ("join_channels", join),
    ("timer", timer),
    ("mutex", mutex),
    ("semaphore", semaphore),
    ("condition", condition),
    ("wait_group", wait_group),
    ("select_source", source::select),
    ("select_source", source::select),
    ("source_closes", source::close),
    ("clock_panics", source::clock),
];

type Local = (Sender<Bomb>, Receiver<Bomb>);
type Both = (Sender<Bomb, Shared>, Receiver<Bomb, Shared>);

const SHORT: Duration = Duration::from_micros(100);

fn open(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let made: Local = match y % 3 {
        0 => channel::channel(),
        1 => channel::bounded(usize::from(y % 4)),
        _ => channel::unbounded(),
    };
    world::put(x, made);
}

fn open_shared(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let made: Both = match y % 3 {
        0 => channel::shared::channel(),
        1 => channel::shared::bounded(usize::from(y % 4)),
        _ => channel::shared::unbounded(),
    };
    world::share(x, made);
}

fn send(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if let Some(both) = world::shared::<Both>(x) {
        if y % 2 == 0 {
            drop(both.0.try_send(Bomb::new(z)));
        } else {
            drop(both.0.send_timeout(Bomb::new(z), SHORT));
        }
    }
    if let Some(local) = world::get::<Local>(x) {
        if y % 4 < 2 || !kernel::can_park() {
            drop(local.0.try_send(Bomb::new(z)));
        } else {
            drop(local.0.send_timeout(Bomb::new(z), SHORT));
        }
    }
}

fn recv(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(both) = world::shared::<Both>(x) {
        if y % 2 == 0 {
            drop(both.1.try_recv());
        } else {
            drop(both.1.recv_timeout(SHORT));
        }
    }
    if let Some(local) = world::get::<Local>(x) {
        if y % 4 < 2 || !kernel::can_park() {
            drop(local.1.try_iter().next());
        } else {
            drop(local.1.recv_timeout(SHORT));
        }
    }
}

/// Futures borrow their end; a leaked one borrows for ever.
fn poll_recv(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let waker = bomb::waker(z);
    if let Some(both) = world::shared::<Both>(x) {
        let end: &'static Receiver<Bomb, Shared> = Box::leak(Box::new(both.1.clone()));
        let mut future = Box::pin(end.recv_async());
        drop(future.as_mut().poll(&mut Context::from_waker(&waker)));
        if y % 2 == 0 {
            world::share(x, StdMutex::new(future));
        }
    }
    if let Some(local) = world::get::<Local>(x) {
        let end: &'static Receiver<Bomb> = Box::leak(Box::new(local.1.clone()));
        let mut future = Box::pin(end.recv_async());
        drop(future.as_mut().poll(&mut Context::from_waker(&waker)));
        if y % 2 == 0 {
            world::put(x, future);
        }
    }
}

fn poll_send(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let waker = bomb::waker(z);
    if let Some(both) = world::shared::<Both>(x) {
        let end: &'static Sender<Bomb, Shared> = Box::leak(Box::new(both.0.clone()));
        let mut future = Box::pin(end.send_async(Bomb::new(z)));
        drop(future.as_mut().poll(&mut Context::from_waker(&waker)));
        if y % 2 == 0 {
            world::share(x, StdMutex::new(future));
        }
    }
}

fn close(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(both) = world::shared::<Both>(x) {
        if y % 2 == 0 { both.0.close() } else { both.1.close() }
    }
    if let Some(local) = world::get::<Local>(x) {
        if y % 2 == 0 { local.0.close() } else { local.1.close() }
    }
}

/// Closing wakes everyone who waits, whatever the first one's waker does.
fn close_wakes_all(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    world::spend(5);
    let (tx, rx) = channel::shared::bounded::<u32>(1);
    let other = rx.clone();
    let mut future = Box::pin(other.recv_async());
    let _ = future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
    let waits = std::thread::spawn(move || rx.recv());
    while tx.waiting_receivers().len() < 2 {
        std::thread::yield_now();
    }
    world::quietly(|| if y % 2 == 0 { tx.close() } else { drop(tx) });
    // One that is not woken is a hang.
    if !matches!(waits.join(), Ok(Err(_))) {
        violation("a receiver of a closed channel got a value, or a panic");
    }
}

fn look(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(both) = world::shared::<Both>(x) {
        drop((both.0.len(), both.0.state(), both.0.waiting_receivers(), both.1.waiting_senders()));
        drop(format!("{both:?}"));
    }
}

fn select(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (Some(one), Some(other)) = (world::shared::<Both>(x), world::shared::<Both>(y)) else {
        return;
    };
    let select = Select::new()
        .recv(&one.1, |value| {
            world::run(cx, z);
            drop(value);
        })
        .send(&other.0, Bomb::new(z), drop)
        .after(SHORT, || world::run(cx, z));
    if y % 2 == 0 {
        drop(select.wait().map_err(|error| error.to_string()));
    } else {
        let mut future = Box::pin(select.wait_async());
        let _ = future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
    }
}

fn join(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (Some(one), Some(other)) = (world::shared::<Both>(x), world::shared::<Both>(y)) else {
        return;
    };
    let join = channel::join((&one.1, &other.1));
    match z % 3 {
        0 => drop(join.try_recv()),
        1 => drop(join.recv_timeout(SHORT)),
        _ => {
            let mut future = Box::pin(join.recv_async());
            drop(future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z))));
        }
    }
}

fn timer(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let timer = match y % 3 {
        0 => channel::after(SHORT),
        1 => channel::every(Duration::from_micros(60)),
        _ => channel::never(),
    };
    match z % 3 {
        0 => drop(timer.try_recv()),
        1 => drop(timer.recv_timeout(SHORT)),
        _ => {
            world::put(x, timer);
        }
    }
}

fn mutex(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let lock = world::shared::<Mutex<Bomb, Shared>>(x)
        .unwrap_or_else(|| world::share(x, Mutex::shared(Bomb::new(z))));
    let guard = if y % 2 == 0 { lock.try_lock() } else { lock.lock_timeout(SHORT) };
    if let Ok(mut guard) = guard {
        guard.check();
        world::run(cx, z);
        guard.check();
        *guard = Bomb::new(z);
        if y % 8 == 7 {
            std::mem::forget(guard);
        }
    }
}

fn semaphore(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let semaphore = world::shared::<Semaphore<Shared>>(x)
        .unwrap_or_else(|| world::share(x, Semaphore::shared(usize::from(y % 3))));
    match y % 4 {
        0 => semaphore.release(usize::from(z % 4)),
        1 => semaphore.release(usize::MAX),
        2 => drop(Semaphore::shared(usize::MAX).available()),
        _ => {
            let permit = semaphore.acquire_timeout(SHORT);
            world::run(cx, z);
            drop(permit);
        }
    }
}

fn condition(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let condition = world::shared::<Condition<Shared>>(x)
        .unwrap_or_else(|| world::share(x, Condition::shared()));
    match y % 3 {
        0 => condition.notify_one(),
        1 => condition.notify_all(),
        _ => {
            let Some(lock) = world::shared::<Mutex<Bomb, Shared>>(z) else { return };
            if let Ok(guard) = lock.try_lock() {
                drop(condition.wait_timeout(guard, SHORT));
            }
        }
    }
}

fn wait_group(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let group = world::shared::<WaitGroup<Shared>>(x)
        .unwrap_or_else(|| world::share(x, WaitGroup::shared()));
    let worker = group.worker();
    world::run(cx, z);
    if y % 2 == 0 {
        drop(group.wait_timeout(SHORT));
    }
    drop(worker);
}
