//! What safe code can do with migration and shared stacks: locks, pinned sections, pools of stacks. Coroutines that
//! migrate or share a stack are made by `unsafe` functions, whose promises hostile code would break.

use std::sync::Arc;

use leno::migrate::{Lock, pinned};
use leno::shared::Stacks;

use crate::area::Act;
use crate::bomb::Bomb;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[("pinned", pin), ("migrate_lock", lock), ("stacks", stacks)];

fn pin(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    pinned(|| {
        world::run(cx, z);
        if y % 4 == 0 {
            pinned(|| world::run(cx, z));
        }
    });
}

fn lock(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let lock: Arc<Lock<Bomb>> =
        world::shared(x).unwrap_or_else(|| world::share(x, Lock::new(Bomb::new(z))));
    if y % 2 == 0 {
        if let Some(mut guard) = lock.try_lock() {
            guard.check();
            world::run(cx, z);
            *guard = Bomb::new(z);
            if y % 8 == 0 {
                drop(format!("{guard:?}"));
            }
        }
    } else if let Some(mut guard) = lock.try_lock_owned() {
        guard.check();
        world::run(cx, z);
        *guard = Bomb::new(z);
        if y % 8 == 1 {
            std::mem::forget(guard);
        }
    }
}

fn stacks(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let stacks = world::get::<Stacks>(x)
        .unwrap_or_else(|| world::put(x, Stacks::new(usize::from(y % 4) + 1)));
    drop((format!("{stacks:?}"), stacks.counters(), stacks.stacks()));
    if y % 8 == 0 {
        drop(Stacks::with_size(usize::MAX, usize::MAX).map_err(|error| error.to_string()));
    }
}
