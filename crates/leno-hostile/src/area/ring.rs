//! Rings of symmetric coroutines.

use leno::ring::{self, Member};

use crate::area::Act;
use crate::bomb::Bomb;
use crate::canary::{Canary, Family};
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("ring_spawn", spawn),
    ("ring_scope", scope),
    ("ring_run", |_, _, _, _| ring::run()),
    ("ring_yield_to", yield_to),
    ("ring_join", join),
    ("ring_drain", |_, _, _, _| drop(ring::drain())),
    ("ring_members", members),
    ("ring_wait", wait),
];

fn spawn(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (home, captured) = (Home::here(), Bomb::new(z));
    let member = ring::spawn(move || {
        home.enter();
        captured.check();
        body(&Cx::default(), y, z);
    });
    world::put(x, member);
}

fn body(cx: &Cx<'_>, y: u8, z: u8) {
    let held = Bomb::new(z.wrapping_add(1));
    for turn in 0..y % 4 {
        world::run(cx, z.wrapping_add(turn));
        ring::yield_now();
        held.check();
        cx.check();
    }
}

/// A value that borrows from outside of the scope.
struct Held<'s>(Cx<'s>, Canary, u8);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.1.check();
        self.0.check();
        if std::thread::panicking() {
            world::run_quietly(&self.0, self.2);
        } else {
            world::run(&self.0, self.2);
        }
        self.0.check();
    }
}

fn scope(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (ground, family) = (Canary::new(), Family::default());
    let cx = Cx { lent: Some(ground.lend()), ..*cx };
    ring::scope(|s| {
        for turn in 0..1 + x % 3 {
            let plan = z.wrapping_add(turn);
            let held = Held(cx, Canary::new(), plan.wrapping_mul(5));
            let (home, living) = (Home::here(), family.child());
            s.spawn(move || {
                home.enter();
                let _living = living;
                held.1.check();
                body(&held.0, y.wrapping_add(turn), plan);
            });
        }
        if y % 2 == 0 {
            ring::yield_now();
        }
        world::run(&cx, z);
        if y % 3 == 0 {
            ring::run();
        }
    });
}

fn yield_to(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(member) = world::get::<Member>(x) {
        drop(ring::yield_to(&member));
    }
}

fn join(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(member) = world::get::<Member>(x) {
        // A member that waits for itself, or for one that waits for it, is no business of this test.
        if y % 4 == 0 && member.is_finished() {
            drop(member.join());
        }
        let _ = (member.state(), member.status().is_finished());
    }
}

fn members(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    drop(format!("{:?}", ring::members()));
    drop(ring::failures().map(|failures| failures.len()));
}

fn wait(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    let mut times = y % 4;
    ring::wait_until(|| {
        world::run(cx, z);
        times = times.saturating_sub(1);
        times == 0
    });
}
