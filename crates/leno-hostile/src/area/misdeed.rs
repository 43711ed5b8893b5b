//! What hostile code does wherever it is called.

use crate::area::Act;
use crate::bomb::{Bomb, Hook};
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("panic", |_, _, y, _| panic!("hostile code panics {y}")),
    ("panic_hostile", |_, _, _, z| world::panic_hostile(z)),
    ("panic_hostile", |_, _, _, z| world::panic_hostile(z)),
    ("suspend", suspend),
    ("suspend", suspend),
    ("ring_yield", ring_yield),
    ("kernel_yield", kernel_yield),
    ("kernel_yield", kernel_yield),
    ("drop", |_, x, _, _| drop(world::remove(x))),
    ("drop_shared", |_, x, _, _| drop(world::unshare(x))),
    ("forget", |_, x, _, _| std::mem::forget(world::remove(x))),
    ("caught", |cx, _, _, z| _ = world::caught(|| world::run(cx, z))),
    ("script", |cx, _, _, z| world::run(cx, z)),
    ("exit", exit),
    ("value", value),
    ("cancel", cancel),
    ("list", list),
];

fn suspend(cx: &Cx<'_>, x: u8, _: u8, z: u8) {
    let Some(co) = cx.co else { return };
    let input = if x % 4 == 0 || std::thread::panicking() {
        co.try_suspend(Bomb::new(z)).ok()
    } else {
        Some(co.suspend(Bomb::new(z)))
    };
    if let Some(input) = input {
        input.check();
    }
}

fn ring_yield(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if x % 4 == 0 || std::thread::panicking() {
        drop(leno::ring::try_yield_now());
    } else {
        leno::ring::yield_now();
    }
}

fn kernel_yield(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    if leno::kernel::can_park() && !std::thread::panicking() {
        leno::kernel::yield_now();
    }
}

fn exit(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    if leno::kernel::current().is_some() && !std::thread::panicking() {
        let _ = leno::kernel::exit();
    }
}

fn cancel(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(co) = world::get::<leno::kernel::Co>(x) {
        leno::kernel::cancel(*co);
    }
}

fn value(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let bomb = world::put(x, Bomb::new(z));
    match y % 4 {
        0 => drop((*bomb).clone()),
        1 => drop(*bomb == Bomb::new(0)),
        2 => drop(bomb.to_string()),
        _ => bomb.fire(Hook::Body),
    }
}

fn list(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    // A backtrace takes time, and a program may have made hundreds of coroutines.
    for (at, info) in leno::list::coroutines().into_iter().enumerate() {
        if y % 2 == 0 && at < 3 {
            drop(info.backtrace());
        }
        drop(format!("{info:?}"));
    }
}
