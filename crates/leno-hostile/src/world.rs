//! The objects that programs act on, and the scripts that hostile code runs.
//!
//! No borrow or lock of the arenas is held while anything hostile runs: objects are taken out as `Rc` or `Arc`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use leno::Suspender;

use crate::area;
use crate::bomb::Bomb;
use crate::canary::Lent;
use crate::program::{Op, Program};

/// How many operations a program may do, those in scripts included.
const FUEL: isize = 250;
/// How many exits are caught and not passed on in a program: leno allows each coroutine a few.
const SWALLOWS: isize = 3;
/// How much stack hostile code wants to find; with less it does nothing.
const STACK: usize = 24 * 1024;
/// How many objects an arena holds.
const ARENA: usize = 12;

type Any1 = Rc<dyn Any>;
type Any2 = Arc<dyn Any + Send + Sync>;

thread_local!(static HERE: Here = const { Here(RefCell::new(Vec::new())) });

/// A thread's arena. Its objects are dropped at the end of the thread, where nothing may unwind.
struct Here(RefCell<Vec<Any1>>);

impl Drop for Here {
    fn drop(&mut self) {
        while let Some(object) = self.0.get_mut().pop() {
            quietly(|| drop(object));
        }
    }
}

static EVERYWHERE: Mutex<Vec<Any2>> = Mutex::new(Vec::new());
static PROGRAM: RwLock<Option<Arc<Program>>> = RwLock::new(None);
static LEFT: AtomicIsize = AtomicIsize::new(0);
static SWALLOWED: AtomicIsize = AtomicIsize::new(0);
/// How many operations were done in this process.
pub static DONE: AtomicU64 = AtomicU64::new(0);

/// Whether each operation is told on stderr.
pub static TELLS: AtomicBool = AtomicBool::new(false);

/// What hostile code sees lexically besides the arenas.
#[derive(Clone, Copy, Default)]
pub struct Cx<'a> {
    /// The generator around it.
    pub co: Option<&'a Suspender<Bomb, Bomb>>,
    /// What it borrows from the frame outside of a scope.
    pub lent: Option<Lent<'a>>,
}

impl Cx<'_> {
    /// Checks what it borrows.
    pub fn check(&self) {
        if let Some(lent) = self.lent {
            lent.check();
        }
    }
}

/// Begins a program.
pub fn begin(program: Program) -> Arc<Program> {
    let program = Arc::new(program);
    *PROGRAM.write().unwrap_or_else(PoisonError::into_inner) = Some(program.clone());
    LEFT.store(FUEL, SeqCst);
    SWALLOWED.store(0, SeqCst);
    program
}

/// Ends all misdeeds: what is left of the program's objects behaves from now on.
pub fn calm() {
    LEFT.store(0, SeqCst);
}

/// Whether hostile code may still do something.
pub fn has_fuel() -> bool {
    LEFT.load(SeqCst) > 0 && leno::stack_left().is_none_or(|left| left > STACK)
}

/// Takes fuel for an operation that takes much time, besides what each takes.
pub fn spend(fuel: isize) {
    LEFT.fetch_sub(fuel, SeqCst);
}

/// What code may do that is called under a lock by contract, and must not wait.
const WAITLESS: [&str; 7] =
    ["panic", "panic_hostile", "forget", "caught", "script", "flexible_kick", "flexible_look"];

thread_local!(static WAITLESS_CALLS: Cell<usize> = const { Cell::new(0) });

/// Calls `f`, which is called under a lock by contract: nothing in it waits or drops what may wait.
pub fn waitless<R>(f: impl FnOnce() -> R) -> R {
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            WAITLESS_CALLS.set(WAITLESS_CALLS.get() - 1);
        }
    }
    WAITLESS_CALLS.set(WAITLESS_CALLS.get() + 1);
    let _ends = Ends;
    f()
}

/// Does one operation.
pub fn act(cx: &Cx<'_>, op: &Op) {
    if !has_fuel() {
        return;
    }
    if WAITLESS_CALLS.get() > 0 && !WAITLESS.contains(&area::acts()[op.act].0) {
        return;
    }
    LEFT.fetch_sub(1, SeqCst);
    DONE.fetch_add(1, SeqCst);
    if TELLS.load(SeqCst) {
        crate::child::note(&format!("  {:?} {op:?}", std::thread::current().id()));
    }
    cx.check();
    let [x, y, z] = op.args;
    (area::acts()[op.act].1)(cx, x, y, z);
    cx.check();
}

/// Runs a script; what its operations raise leaves it.
pub fn run(cx: &Cx<'_>, script: u8) {
    cx.check();
    if !has_fuel() {
        return;
    }
    let program = PROGRAM.read().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(program) = program else { return };
    let list = &program.scripts[usize::from(script) % program.scripts.len()];
    for (_, op) in list {
        act(cx, op);
    }
}

/// Runs a script in a place that must not unwind, because it unwinds already.
pub fn run_quietly(cx: &Cx<'_>, script: u8) {
    quietly(|| run(cx, script));
}

/// Calls `f` and catches everything, payloads that raise included.
pub fn quietly<R>(f: impl FnOnce() -> R) -> Option<R> {
    let mut payload = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => return Some(value),
        Err(payload) => payload,
    };
    for _ in 0..20 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return None,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
    None
}

/// Calls `f` as code that catches panics does: exits are passed on once a few were swallowed.
pub fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => Some(value),
        Err(payload) => {
            let is_own = payload.is::<Bomb>()
                || payload.is::<Payload>()
                || payload.is::<String>()
                || payload.is::<&'static str>();
            if !is_own && SWALLOWED.fetch_add(1, SeqCst) >= SWALLOWS {
                resume_unwind(payload);
            }
            quietly(|| drop(payload));
            None
        }
    }
}

/// Panics with a payload that is hostile itself.
pub fn panic_hostile(z: u8) -> ! {
    if z.is_multiple_of(3) {
        panic_any(Payload);
    }
    panic_any(Bomb::new(z))
}

/// A payload whose `Drop` panics, once for each panic.
pub struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        if has_fuel() && !std::thread::panicking() {
            panic!("a payload panics");
        }
    }
}

/// Puts an object into this thread's arena; one that gives way is dropped.
pub fn put<T: 'static>(x: u8, object: T) -> Rc<T> {
    let object = Rc::new(object);
    let own: Any1 = object.clone();
    let gone = HERE.try_with(|here| {
        let mut here = here.0.borrow_mut();
        if here.len() < ARENA {
            here.push(own);
            return None;
        }
        let at = usize::from(x) % ARENA;
        Some(std::mem::replace(&mut here[at], own))
    });
    drop(gone);
    object
}

/// Returns one of the objects of this type in this thread's arena.
pub fn get<T: 'static>(x: u8) -> Option<Rc<T>> {
    HERE.try_with(|here| {
        let here = here.0.borrow();
        let all: Vec<&Any1> = here.iter().filter(|object| object.is::<T>()).collect();
        (!all.is_empty()).then(|| all[usize::from(x) % all.len()].clone())
    })
    .ok()
    .flatten()
    .and_then(|object| object.downcast().ok())
}

/// Takes an object out of this thread's arena.
pub fn remove(x: u8) -> Option<Rc<dyn Any>> {
    let taken = HERE.try_with(|here| {
        let mut here = here.0.borrow_mut();
        let count = here.len();
        (count > 0).then(|| here.swap_remove(usize::from(x) % count))
    });
    taken.ok().flatten()
}

fn everywhere() -> std::sync::MutexGuard<'static, Vec<Any2>> {
    EVERYWHERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts an object into the arena of all threads.
pub fn share<T: Send + Sync + 'static>(x: u8, object: T) -> Arc<T> {
    let object = Arc::new(object);
    let own: Any2 = object.clone();
    let mut all = everywhere();
    let gone = if all.len() < ARENA {
        all.push(own);
        None
    } else {
        let at = usize::from(x) % ARENA;
        Some(std::mem::replace(&mut all[at], own))
    };
    drop(all);
    drop(gone);
    object
}

/// Returns one of the objects of this type in the arena of all threads.
pub fn shared<T: Send + Sync + 'static>(x: u8) -> Option<Arc<T>> {
    let all = everywhere();
    let some: Vec<&Any2> = all.iter().filter(|object| object.is::<T>()).collect();
    let found = (!some.is_empty()).then(|| some[usize::from(x) % some.len()].clone());
    drop(all);
    found.and_then(|object| object.downcast().ok())
}

/// Takes an object out of the arena of all threads.
pub fn unshare(x: u8) -> Option<Arc<dyn Any + Send + Sync>> {
    let mut all = everywhere();
    let count = all.len();
    (count > 0).then(|| all.swap_remove(usize::from(x) % count))
}

/// Empties both arenas, one object after the other.
pub fn clear() {
    loop {
        let (one, other) = (remove(0), unshare(0));
        if one.is_none() && other.is_none() {
            return;
        }
        quietly(|| drop(one));
        quietly(|| drop(other));
    }
}
