//! Systems of the calling thread, and what coroutines of any system do.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use leno::Coroutine;
use leno::kernel::dump::Depth;
use leno::kernel::{self, Co, JoinHandle, LocalSystem, Options, Reason, ScopedHandle, Sink, Start};

use crate::area::Act;
use crate::bomb::{self, Bomb, Later, Rule};
use crate::canary::{Canary, Family, violation};
use crate::waits::{self, Waits};
use crate::world::{self, Cx, Home};

/// The operations.
pub const ACTS: &[Act] = &[
    ("local_system", system),
    ("local_spawn", spawn),
    ("local_spawn", spawn),
    ("local_future", future),
    ("local_run", run),
    ("local_run", run),
    ("local_run", run),
    ("local_drain", drain),
    ("local_dump", dump),
    ("try_join", try_join),
    ("join_timeout", join_timeout),
    ("poll_join", poll_join),
    ("cancel_handle", cancel_handle),
    ("spawn_here", spawn_here),
    ("kernel_scope", scope),
    ("kernel_scope", scope),
    ("idle_scope", idle_scope),
    ("generator_scope", generator_scope),
    ("park_until", park_until),
    ("unpark", unpark),
    ("attach", attach),
    ("sink", sink),
    ("block_on", block_on),
];

/// A handle that is taken out to be used.
pub type Handle = RefCell<Option<JoinHandle<Bomb>>>;

fn keep(x: u8, handle: JoinHandle<Bomb>) {
    if let Some(co) = handle.co() {
        world::put::<Co>(x.wrapping_add(1), co);
    }
    world::put::<Handle>(x, RefCell::new(Some(handle)));
}

fn take(x: u8) -> Option<JoinHandle<Bomb>> {
    world::get::<Handle>(x).and_then(|handle| handle.borrow_mut().take())
}

fn start(y: u8) -> Options {
    let start = match y % 8 {
        0 => Start::Eager,
        1 => Start::Idle,
        2 => Start::Lazy,
        _ => Start::Ready,
    };
    Options::new().stack_size(128 << 10).start(start)
}

fn system(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let mut builder = LocalSystem::builder();
    if y % 2 == 0 {
        builder = builder.policy(Rule::new(z));
    }
    if y % 3 == 0 {
        builder = builder.virtual_time();
    }
    if y % 5 == 0 {
        builder = builder.log(16);
    }
    world::put(x, builder.build());
}

/// Returns a system of this thread, a new one if there is none.
fn some_system(x: u8) -> Rc<LocalSystem> {
    world::get(x).unwrap_or_else(|| world::put(x, LocalSystem::new()))
}

/// What a coroutine of a system does.
pub fn body(cx: &Cx<'_>, y: u8, z: u8) -> Bomb {
    let held = Bomb::new(z.wrapping_add(1));
    for turn in 0..y % 4 {
        if turn % 2 == 0 {
            world::run(cx, z.wrapping_add(turn));
        } else {
            world::caught(|| world::run(cx, z.wrapping_add(turn)));
        }
        if !std::thread::panicking() {
            kernel::yield_now();
        }
        held.check();
        cx.check();
    }
    Bomb::new(z)
}

fn spawn(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let (home, captured) = (Home::here(), Bomb::new(z));
    let made = some_system(x).spawn_with(&start(y), move || {
        home.enter();
        captured.check();
        body(&Cx::default(), y, z)
    });
    if let Ok(handle) = made {
        match y % 3 {
            0 => drop(handle),
            _ => keep(x, handle),
        }
    }
}

fn future(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let handle = some_system(x).spawn_future(Later::new(y, z));
    match y % 3 {
        0 => drop(handle),
        _ => keep(x, handle),
    }
}

fn run(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(system) = world::get::<LocalSystem>(x) {
        let mut ended = system.run();
        waits::check(&system, &ended);
        if let Err(deadlock) = &ended
            && y % 2 == 0
        {
            drop(deadlock.to_string());
            deadlock.report.alive.iter().for_each(|alive| kernel::unpark(alive.co));
            ended = system.run();
            waits::check(&system, &ended);
        }
        drop(ended.map_err(|deadlock| deadlock.to_string()));
    }
}

fn drain(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(system) = world::get::<LocalSystem>(x) {
        if y % 2 == 0 {
            drop(system.drain());
        } else {
            system.sweep();
        }
    }
}

fn dump(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(system) = world::get::<LocalSystem>(x) {
        let depth = if y % 2 == 0 { Depth::States } else { Depth::Frames };
        drop(system.dump(depth).to_string());
        drop((system.report(), system.log()));
    }
}

fn try_join(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(handle) = take(x) {
        drop(handle.try_join().map(|result| result.map_err(|error| error.into_panic())));
        keep(x, handle);
    }
}

fn join_timeout(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(handle) = take(x) {
        match handle.join_timeout(Duration::from_micros(300)) {
            Ok(result) => drop(result.map_err(|error| error.to_string())),
            Err(handle) => keep(x, handle),
        }
    }
}

fn poll_join(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Some(handle) = take(x) {
        let mut handle = Box::pin(handle);
        drop(handle.as_mut().poll(&mut Context::from_waker(&bomb::waker(z))));
        world::put(x, handle);
    }
}

fn cancel_handle(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(handle) = take(x) {
        handle.cancel();
        keep(x, handle);
    }
}

fn spawn_here(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if kernel::current().is_none() {
        return;
    }
    let (home, captured) = (Home::here(), Bomb::new(z));
    let made = kernel::try_spawn_local(&start(y), move || {
        home.enter();
        captured.check();
        body(&Cx::default(), y, z)
    });
    if let Ok(handle) = made {
        keep(x, handle);
    }
}

/// A value that borrows from outside of a scope.
struct Held<'s>(Cx<'s>, Canary, u8);

impl<'s> Held<'s> {
    fn new(cx: Cx<'s>, plan: u8) -> Held<'s> {
        Held(cx, Canary::new(), plan)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.1.check();
        self.0.check();
        if std::thread::panicking() {
            world::run_quietly(&self.0, self.2);
        } else {
            world::run(&self.0, self.2);
        }
        self.1.check();
        self.0.check();
    }
}

/// The result of a child: its `Drop` lets the scope's owner go on.
struct Untaken<'s> {
    held: Held<'s>,
    owner: Option<Co>,
}

impl Drop for Untaken<'_> {
    fn drop(&mut self) {
        self.held.0.check();
        if let Some(owner) = self.owner.filter(|_| world::has_fuel()) {
            // Only a coroutine with a stack can attach.
            let eager = Options::new().stack_size(128 << 10).start(Start::Eager);
            let attach = move || drop(kernel::attach(owner).map_err(|error| error.to_string()));
            world::quietly(|| drop(kernel::try_spawn_local(&eager, attach)));
        }
        self.held.0.check();
    }
}

fn scope(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    if !kernel::can_park() {
        return;
    }
    let (ground, family) = (Canary::new(), Family::default());
    let cx = Cx { lent: Some(ground.lend()), ..*cx };
    let owner = kernel::current().filter(|_| y % 2 == 1);
    // Until the scope is left.
    let mut owner_waits = None;
    kernel::scope(|s| {
        let mut handles = Vec::new();
        for turn in 0..1 + x % 3 {
            let plan = z.wrapping_add(turn.wrapping_mul(13));
            let (living, held) = (family.child(), Held::new(cx, plan));
            if (x.wrapping_add(turn)) % 4 == 0 {
                handles.push(s.spawn_future(async move {
                    let _living = living;
                    world::run(&held.0, held.2);
                    Untaken { held: Held::new(cx, plan.wrapping_add(1)), owner }
                }));
                continue;
            }
            let (home, waits) = (Home::here(), Waits::default());
            let mark = waits.mark();
            let sibling =
                (plan % 8 == 7).then(|| (family.child(), Held::new(cx, plan.wrapping_add(2))));
            let made = s.spawn_with(&start(y.wrapping_add(turn)), move || {
                home.enter();
                let (_living, _waits) = (living, waits);
                held.1.check();
                body(&held.0, y, held.2);
                if let Some((living, held)) = sibling {
                    // The scope may wait already, and starts it then.
                    drop(s.spawn_with(&start(2), move || {
                        let _living = living;
                        held.1.check();
                        body(&held.0, y, held.2);
                    }));
                }
                Untaken { held: Held::new(cx, plan.wrapping_add(1)), owner }
            });
            if let Ok(handle) = made {
                if let Some(co) = handle.co() {
                    mark.note(co);
                }
                handles.push(handle);
            }
        }
        world::run(&cx, z);
        // One that is idle waits for someone to unpark it, and the scope for it.
        if y % 16 >= 8 || !waits::end_in_a_report() {
            handles.iter().filter_map(ScopedHandle::co).for_each(kernel::unpark);
        } else {
            // Not in a generator, which another coroutine may go on with.
            owner_waits = kernel::layer::current_on_own_stack().map(Waits::of);
        }
        if let Some(handle) = handles.pop() {
            match y % 4 {
                0 => drop(handle.join().map_err(|error| error.to_string())),
                1 => handle.cancel(),
                2 => std::mem::forget(handle),
                _ => drop(handle),
            }
        }
        if let Some(owner) = kernel::current() {
            world::put(x, owner);
        }
    });
}

/// A scope that waits for a child that nobody unparks, in a system that reports a deadlock then.
fn idle_scope(cx: &Cx<'_>, x: u8, y: u8, z: u8) {
    // Three children, of which the first, the second or the third is idle.
    let (children, starts) = (x % 80 * 3 + 2, y / 16 * 16 + [1, 0, 7][usize::from(y % 3)]);
    let home = Home::here();
    let made = some_system(x).spawn_with(&start(3), move || {
        home.enter();
        scope(&Cx::default(), children, starts, z);
        Bomb::new(z)
    });
    if let Ok(handle) = made {
        keep(x, handle);
    }
    run(cx, x, y, z);
}

/// A scope in a generator, which its children can try to suspend, and which may be dropped meanwhile.
fn generator_scope(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if !kernel::can_park() {
        return;
    }
    let home = Home::here();
    let made = Coroutine::<Bomb, Bomb, Bomb>::new(move |co, input| {
        home.enter();
        input.check();
        scope(&Cx { co: Some(co), lent: None }, x, y, z);
        Bomb::new(z)
    });
    let (made, own) = (world::put(x, made), kernel::current());
    for turn in 0..1 + y % 3 {
        drop(made.try_resume(Bomb::new(z.wrapping_add(turn))).map_err(|error| error.to_string()));
        if kernel::current() != own {
            violation("a coroutine goes on while another one is taken to run");
        }
        kernel::yield_now();
    }
    drop(made);
    if y % 4 == 0 {
        world::run(&Cx::default(), z);
    }
}

fn park_until(_: &Cx<'_>, _: u8, _: u8, _: u8) {
    if kernel::can_park() && !std::thread::panicking() {
        kernel::park_until(Reason::Blocking, kernel::now() + Duration::from_micros(50));
    }
}

fn unpark(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(co) = world::get::<Co>(x) {
        match y % 3 {
            0 => kernel::unpark(*co),
            1 => kernel::layer::unpark_partner(*co),
            _ => kernel::layer::give_way(),
        }
    }
}

fn attach(_: &Cx<'_>, x: u8, _: u8, _: u8) {
    if let Some(co) = world::get::<Co>(x) {
        drop(kernel::attach(*co).map_err(|error| error.to_string()));
    }
}

fn sink(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if !kernel::can_park() {
        return;
    }
    let (sink, home) = (Sink::new(), Home::here());
    let captured = Bomb::new(z);
    let made = sink.spawn(&Options::new().stack_size(128 << 10), move || {
        home.enter();
        captured.check();
        body(&Cx::default(), y, z)
    });
    if let Ok(handle) = made {
        keep(x, handle);
    }
    for _ in 0..y % 4 {
        if let Some(co) = sink.try_next() {
            drop(kernel::attach(co).map_err(|error| error.to_string()));
        }
    }
    world::put(x, sink);
}

fn block_on(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    if x % 2 == 0 {
        drop(kernel::try_block_on(Later::new(y, z)));
    } else {
        let mut later = pin!(Later::new(y, z));
        drop(later.as_mut().poll(&mut Context::from_waker(&bomb::waker(z))));
    }
}
