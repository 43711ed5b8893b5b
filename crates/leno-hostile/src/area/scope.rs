//! Scopes of coroutines: children that borrow, and reach each other's handles.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leno::{Builder, ScopedCoroutine, Suspender};

use crate::area::Act;
use crate::bomb::Bomb;
use crate::canary::{Canary, Family};
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("scope", scope),
    ("scope", scope),
    ("scope_forget", scope_forget),
    ("scope_at_thread_end", scope_at_thread_end),
];

type Child<'s> = Rc<ScopedCoroutine<'s, Bomb, Held<'s>, Held<'s>>>;
type Children<'s> = Rc<RefCell<Vec<Child<'s>>>>;

/// A value that borrows from outside of the scope, and whose `Drop` acts on the scope's children.
struct Held<'s> {
    cx: Cx<'s>,
    children: Children<'s>,
    plan: u8,
    canary: Canary,
}

impl<'s> Held<'s> {
    fn new(cx: Cx<'s>, children: &Children<'s>, plan: u8) -> Held<'s> {
        Held { cx, children: children.clone(), plan, canary: Canary::new() }
    }

    fn act(&self) {
        let at = usize::from(self.plan >> 2);
        let count = self.children.borrow().len();
        let child = (count > 0).then(|| self.children.borrow()[at % count].clone());
        match (self.plan % 4, child) {
            (0, Some(child)) => {
                drop(child.try_resume(Bomb::new(self.plan)).map_err(|e| e.to_string()))
            }
            (1, Some(_)) => {
                let taken = self.children.borrow_mut().swap_remove(at % count);
                drop(taken);
            }
            (2, _) => world::run(&self.cx, self.plan),
            (3, _) if at % 4 == 0 => world::panic_hostile(self.plan),
            _ => {}
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.canary.check();
        self.cx.check();
        if !world::has_fuel() {
            return;
        }
        if std::thread::panicking() {
            world::quietly(|| self.act());
        } else {
            self.act();
        }
        self.canary.check();
        self.cx.check();
    }
}

fn child<'s>(
    s: &'s leno::Scope<'s, '_>,
    (cx, family): (Cx<'s>, &Family),
    children: &Children<'s>,
    y: u8,
    z: u8,
) -> Option<Child<'s>> {
    let (home, living) = (Home::here(), family.child());
    let captured = Held::new(cx, children, z);
    let children = children.clone();
    let body = move |co: &Suspender<Bomb, Held<'s>>, input: Bomb| {
        home.enter();
        let _living = living;
        captured.canary.check();
        input.check();
        for turn in 0..y % 4 {
            let plan = z.wrapping_add(turn).wrapping_mul(7);
            cx.check();
            world::caught(|| co.suspend(Held::new(cx, &children, plan)));
            cx.check();
            world::run(&cx, plan);
        }
        world::caught(|| world::run(&cx, z));
        cx.check();
        Held::new(cx, &children, z.wrapping_add(1))
    };
    s.coroutine_with(Builder::new().stack_size(128 << 10), body).ok().map(Rc::new)
}

fn scope(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (ground, family) = (Canary::new(), Family::default());
    let cx = Cx { lent: Some(ground.lend()), ..*cx };
    leno::scope(|s| {
        let children: Children<'_> = Rc::default();
        for turn in 0..1 + x % 3 {
            let plan = z.wrapping_add(turn.wrapping_mul(31));
            let made = child(s, (cx, &family), &children, y.wrapping_add(turn), plan);
            children.borrow_mut().extend(made);
        }
        for turn in 0..y % 5 {
            let one = children.borrow().get(usize::from(turn) % 3).cloned();
            if let Some(one) = one {
                drop(one.try_resume(Bomb::new(z)).map_err(|e| e.to_string()));
            }
        }
        // What is in the cycle of handles and children is ended by the scope, not by a drop.
        world::run(&cx, z);
    });
}

fn scope_forget(cx: &Cx<'_>, _: u8, y: u8, z: u8) {
    let (ground, family) = (Canary::new(), Family::default());
    let cx = Cx { lent: Some(ground.lend()), ..*cx };
    leno::scope(|s| {
        let children: Children<'_> = Rc::default();
        for turn in 0..3 {
            if let Some(made) = child(s, (cx, &family), &children, y, z.wrapping_add(turn)) {
                if turn == 0 {
                    drop(made.try_resume(Bomb::new(z)).map_err(|e| e.to_string()));
                }
                std::mem::forget(made);
            }
        }
        if y % 2 == 0 {
            world::run(&cx, z);
        }
    });
}

/// Opens a scope when its thread ends.
struct AtEnd(Cell<Option<(u8, u8, u8)>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some((x, y, z)) = self.0.take() {
            world::quietly(|| scope(&Cx::default(), x, y, z));
        }
    }
}

thread_local!(static AT_END: AtEnd = const { AtEnd(Cell::new(None)) });

/// A scope in the destructor of a thread-local.
fn scope_at_thread_end(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let thread = std::thread::spawn(move || {
        AT_END.with(|end| end.0.set(Some((x, y, z))));
        // What leno keeps of the thread is gone before that, or after it.
        if z % 2 == 0 {
            world::quietly(|| scope(&Cx::default(), x, y, z));
        }
    });
    let _ = thread.join().map_err(std::mem::forget);
}
