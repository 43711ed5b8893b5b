//! Processes with entries.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::time::Duration;

use leno::process::{Me, System, process};

use crate::area::Act;
use crate::bomb::{self, Bomb, Hook};
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("process_system", system),
    ("process_start", start),
    ("process_put", put),
    ("process_put", put),
    ("process_get", get),
    ("process_get", get),
    ("process_stop", stop),
];

struct Clerk(Vec<Bomb>, Bomb);

#[process]
impl Clerk {
    #[entry(when = self.0.len() < 3)]
    fn put(&mut self, bomb: Bomb) {
        bomb.check();
        bomb.fire(Hook::Body);
        self.0.push(bomb);
    }

    #[entry(when = !self.0.is_empty())]
    fn get(&mut self) -> Bomb {
        self.1.fire(Hook::Body);
        self.0.remove(0)
    }

    #[entry]
    fn nested(&mut self, me: &Me<Self>, bomb: Bomb) -> Bomb {
        bomb.fire(Hook::Body);
        if me.pending() > 8 {
            me.stop();
        }
        bomb
    }

    #[last]
    fn close(&mut self) {
        self.1.fire(Hook::Body);
    }
}

fn system(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Ok(system) = System::new(1 + usize::from(y % 2)) {
        world::share(x, Mutex::new(Some(system)));
    }
}

fn start(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(system) = world::shared::<Mutex<Option<System>>>(x) else {
        return self::system(&Cx::default(), x, y, z);
    };
    let clerk = Clerk(Vec::new(), Bomb::new(z));
    let Ok(system) = system.try_lock() else { return };
    let made = system.as_ref().map(|system| system.start(clerk));
    drop(system);
    if let Some(made) = made {
        world::share(x, made);
    }
}

fn clerk(x: u8) -> Option<Arc<ClerkRef>> {
    world::shared(x)
}

/// Calls `show` with a process, and with its answer or why there is none.
pub fn show(x: u8, z: u8, show: impl Fn(&dyn fmt::Debug)) {
    let Some(clerk) = clerk(x) else { return };
    show(&*clerk);
    match clerk.put(Bomb::new(z)) {
        Ok(reply) => show(&reply),
        Err(refused) => show(&refused),
    }
}

fn put(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Some(clerk) = clerk(x) {
        drop(clerk.put(Bomb::new(z)));
    }
}

fn get(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(clerk) = clerk(x) else { return };
    let reply = if y % 2 == 0 { clerk.get().ok() } else { clerk.nested(Bomb::new(z)).ok() };
    let Some(reply) = reply else { return };
    match y % 3 {
        0 => drop(reply.wait_timeout(Duration::from_micros(200))),
        1 => drop(reply.try_take()),
        _ => {
            let mut reply = Box::pin(reply);
            drop(reply.as_mut().poll(&mut Context::from_waker(&bomb::waker(z))));
            world::share(x, Mutex::new(reply));
        }
    }
}

fn stop(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(clerk) = clerk(x) {
        clerk.stop();
    }
    if y % 4 == 0
        && let Some(system) = world::shared::<Mutex<Option<System>>>(x)
    {
        let taken = system.try_lock().ok().and_then(|mut system| system.take());
        if let Some(system) = taken {
            drop(system.stop());
        }
    }
}
