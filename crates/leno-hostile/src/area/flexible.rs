//! Flexible coroutines, of both kinds of systems, with observers, policies and failure hooks. Bodies begin calls of
//! others and drop them.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use leno::flexible::policy::Pending;
use leno::flexible::{AsyncMe, Flexible, Me, System, Threadless};

use crate::area::Act;
use crate::bomb::{self, Bomb, Hook, Later};
use crate::canary::violation;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("flexible_system", system),
    ("threadless", threadless),
    ("flexible_create", create),
    ("threadless_create", create_async),
    ("flexible_call", call),
    ("flexible_call", call),
    ("flexible_kick", kick),
    ("flexible_poll", poll),
    ("flexible_look", look),
    ("threadless_hook", hook),
];

type Coroutine = Flexible<Bomb, Bomb>;

/// Systems without threads that were stopped on purpose.
static STOPPED: Mutex<Vec<Weak<Threadless>>> = Mutex::new(Vec::new());

fn stopped() -> std::sync::MutexGuard<'static, Vec<Weak<Threadless>>> {
    STOPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn system(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let mut builder = System::builder();
    let bomb = Bomb::new(z);
    if y % 2 == 0 {
        builder = builder.on_failure(move |_| bomb.fire(Hook::Body));
    } else if y % 3 == 0 {
        builder = builder.observer(move |_| bomb.fire(Hook::Body));
    }
    world::share(x, Mutex::new(builder.build()));
}

fn threadless(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let mut builder = Threadless::builder();
    let bomb = Bomb::new(z);
    if y % 2 == 0 {
        builder = builder.on_failure(move |_| bomb.fire(Hook::Body));
    } else if y % 3 == 0 {
        builder = builder.observer(move |_| bomb.fire(Hook::Body));
    }
    world::share(x, builder.threadless());
}

fn create(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(system) = world::shared::<Mutex<System>>(x) else {
        return system(&Cx::default(), x, y, z);
    };
    let captured = Bomb::new(z);
    let body = move |me: &mut Me<Bomb, Bomb>| {
        for turn in 0..2 + y % 4 {
            let parameter = me.parameter();
            captured.check();
            world::run(&Cx::default(), z.wrapping_add(turn));
            match (y.wrapping_add(turn)) % 4 {
                0 => me.passivate(),
                1 => me.yield_now(),
                2 => me.answer(Bomb::new(z)),
                _ => me.detach(parameter.unwrap_or_else(|| Bomb::new(z))),
            }
        }
    };
    let Ok(system) = system.try_lock() else { return };
    // One in sixteen cannot start.
    let bytes = if z % 16 == 7 { 1 << 50 } else { 128 << 10 };
    let made = system.coroutine("hostile").stack_size(bytes).create(body);
    drop(system);
    world::share::<Coroutine>(x, made);
}

fn create_async(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(system) = world::shared::<Threadless>(x) else {
        return threadless(&Cx::default(), x, y, z);
    };
    let captured = Bomb::new(z);
    let mut builder = system.coroutine("hostile");
    if y % 3 == 0 {
        let bomb = Bomb::new(z);
        builder = builder.serve(move |pending: &[Pending]| {
            bomb.fire(Hook::Policy);
            if world::has_fuel() { pending.len() + 1 } else { 0 }
        });
    }
    let made = builder.create(move |mut me: AsyncMe<Bomb, Bomb>| async move {
        for turn in 0..2 + y % 4 {
            let parameter = me.parameter();
            captured.check();
            world::run(&Cx::default(), z.wrapping_add(turn));
            drop(Later::new(turn, z).await);
            if z % 4 == 0 {
                call_and_drop(x.wrapping_add(turn), y, z).await;
            }
            match (y.wrapping_add(turn)) % 4 {
                0 => me.passivate().await,
                1 => me.yield_now().await,
                2 => me.answer(Bomb::new(z)),
                _ => me.detach(parameter.unwrap_or_else(|| Bomb::new(z))).await,
            }
        }
    });
    world::share::<Coroutine>(x, made);
}

/// Begins a call in a body, as a `select` does, and drops it at once, in another poll, or when it is answered.
async fn call_and_drop(x: u8, y: u8, z: u8) {
    let Some(co) = world::shared::<Coroutine>(x) else { return };
    let mut call = Box::pin(if y % 2 == 0 {
        co.call_async(Bomb::new(z))
    } else {
        co.call_wait_async(Bomb::new(z))
    });
    let is_ready = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await;
    match y % 3 {
        0 if !is_ready => drop(call.await),
        1 if !is_ready => drop(world::share(x, Mutex::new(call))),
        _ => drop(call),
    }
}

fn call(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if let Some(co) = world::shared::<Coroutine>(x) {
        let limit = Duration::from_micros(100 + u64::from(y));
        drop(co.call_timeout(Bomb::new(z), limit).map_err(|error| error.to_string()));
    }
}

fn kick(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(co) = world::shared::<Coroutine>(x) {
        drop(if y % 2 == 0 { co.kick() } else { co.prod() });
    }
}

fn poll(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if let Some(co) = world::shared::<Coroutine>(x) {
        let waker = bomb::waker(z);
        let mut future = Box::pin(if y % 2 == 0 {
            co.call_async(Bomb::new(z))
        } else {
            co.call_wait_async(Bomb::new(z))
        });
        drop(future.as_mut().poll(&mut Context::from_waker(&waker)));
        if y % 4 < 2 {
            world::share(x, Mutex::new(future));
        }
    }
}

fn look(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(co) = world::shared::<Coroutine>(x) {
        drop((co.name(), co.state(), co.caller(), co.look()));
    }
    if let Some(system) = world::shared::<Threadless>(x) {
        drop(format!("{:?} {:?}", system.snapshot(), system.failures().len()));
        if y % 8 == 0 {
            stopped().push(Arc::downgrade(&system));
            system.stop();
        }
    }
}

/// Bodies and failure hooks that panic on helpers, in number.
fn hook(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    let systems: Vec<Threadless> = (0..32)
        .map(|_| Threadless::builder().on_failure(|_| panic!("a hook panics")).threadless())
        .collect();
    for system in &systems {
        let made = system.create("hostile", |_: AsyncMe<(), ()>| async { panic!("a body panics") });
        drop(made.kick());
    }
    std::thread::sleep(Duration::from_millis(4));
}

/// Calls a coroutine of each system without threads that is left. It goes on whatever wakers, hooks and observers do,
/// unless it was stopped on purpose.
pub fn probe() {
    for x in 0..4 {
        let Some(system) = world::shared::<Threadless>(x) else { break };
        let own = Arc::as_ptr(&system);
        if stopped().iter().any(|other| other.as_ptr() == own) {
            continue;
        }
        // One that does not answer is a hang.
        let answer = world::quietly(|| {
            let made = system.create("probe", |mut me: AsyncMe<u32, u32>| async move {
                me.answer(5);
            });
            made.call(1).map_err(|error| error.to_string())
        });
        match answer {
            Some(Ok(5)) => {}
            other => violation(&format!("a system without threads answers {other:?}")),
        }
    }
    stopped().clear();
}
