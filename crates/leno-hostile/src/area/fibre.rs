//! Fibres and their channels.

use leno::fibre::{Cx as FibreCx, Runner, channel};

use crate::area::Act;
use crate::bomb::{Bomb, Rule};
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("fibre_run", run),
    ("fibre_pipe", pipe),
    ("fibre_starve", starve),
    ("fibre_join", join),
    ("fibre_isolated", isolated),
];

fn runner(y: u8, z: u8) -> Runner {
    match y % 4 {
        0 => Runner::new().policy(Rule::new(z)),
        1 => Runner::new().reader_first(),
        2 => Runner::new().virtual_time().log(8),
        _ => Runner::new(),
    }
}

/// What a fibre does besides reading and writing.
fn turn(cx: &FibreCx<'_>, y: u8, z: u8) {
    world::run(&Cx::default(), z);
    match y % 4 {
        0 => cx.yield_now(),
        1 => drop(cx.sweep()),
        2 => drop(format!("{:?}", cx.look())),
        _ => {}
    }
}

fn run(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let (home, captured) = (Home::here(), Bomb::new(z));
    let ran = runner(y, z).run(move |cx| {
        home.enter();
        captured.check();
        let held = Bomb::new(z.wrapping_add(1));
        let (one, other) = (home.clone(), home.clone());
        drop(cx.spawn(move |cx| {
            one.enter();
            turn(cx, y, z);
            Bomb::new(z)
        }));
        drop(cx.spawn_later(move |cx| {
            other.enter();
            turn(cx, y.wrapping_add(1), z.wrapping_add(1));
        }));
        turn(cx, y, z.wrapping_add(2));
        held.check();
        Bomb::new(z)
    });
    drop((ran.events(), ran.zombies().len()));
    drop(ran.result());
}

fn pipe(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let home = Home::here();
    let ran = runner(y, z).run(move |cx| {
        home.enter();
        let (one, other) = (home.clone(), home.clone());
        let ((tx, rx), (out, inp)) = (channel::<Bomb>(), channel::<Bomb>());
        cx.spawn(move |cx| {
            one.enter();
            for turn in 0..x % 5 {
                tx.write(cx, Bomb::new(z.wrapping_add(turn)));
            }
        });
        cx.spawn(move |cx| {
            other.enter();
            let held = Bomb::new(z);
            loop {
                let value = rx.read(cx);
                held.check();
                turn(cx, y, z);
                if y % 3 == 0 {
                    out.broadcast(cx, value);
                } else {
                    out.write(cx, value);
                }
            }
        });
        inp.closable().iter(cx).for_each(|bomb| bomb.check());
    });
    drop(ran);
}

/// Fibres that nobody will ever serve are removed, with what they hold.
fn starve(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let home = Home::here();
    let ran = runner(y, z).run(move |cx| {
        home.enter();
        for turn in 0..1 + x % 3 {
            let (tx, rx) = channel::<Bomb>();
            let (own, held) = (home.clone(), Bomb::new(z.wrapping_add(turn)));
            cx.spawn(move |cx| {
                own.enter();
                held.check();
                world::caught(|| rx.read(cx).check());
                held.check();
            });
            if (x + turn) % 2 == 0 {
                drop(tx);
            } else {
                world::put(x, tx);
            }
        }
        turn(cx, y, z);
    });
    drop(ran);
}

fn join(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let home = Home::here();
    let ran = runner(y, z).run(move |cx| {
        home.enter();
        let fibre = cx.spawn(move |cx| {
            home.enter();
            turn(cx, y, z);
            Bomb::new(z)
        });
        if y % 3 == 0 {
            fibre.kill();
        }
        fibre.join(cx).map_err(|error| error.to_string())
    });
    drop(ran.result());
}

fn isolated(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    let captured = Bomb::new(z);
    let ran = leno::fibre::isolated(move |cx| {
        captured.check();
        turn(cx, y, z);
        Bomb::new(z)
    });
    drop(ran.result());
}
