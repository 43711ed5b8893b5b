//! The objects that programs act on, and the scripts that hostile code runs.
//!
//! No borrow or lock of the arenas is held while anything hostile runs: objects are taken out as `Rc` or `Arc`.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use leno::Suspender;

use crate::area;
use crate::bomb::Bomb;
use crate::canary::Lent;
use crate::program::{Op, Program};

/// How many operations a program may do, those in scripts included; miri does some ten a second.
const FUEL: isize = if cfg!(miri) { 30 } else { 250 };
/// How many exits are caught and not passed on in a program: leno allows each coroutine a few.
const SWALLOWS: isize = 3;
/// How much stack hostile code wants to find; with less it does nothing. Without optimisation frames are larger: to
/// explore a program from a nested script takes some 30 KiB.
const STACK: usize = if cfg!(debug_assertions) { 48 } else { 24 } * 1024;
/// How many objects an arena holds.
pub const ARENA: usize = 12;

type Any1 = Rc<dyn Any>;
type Any2 = Arc<dyn Any + Send + Sync>;

thread_local!(static HERE: RefCell<Mine> = RefCell::new(Mine::new()));

/// A thread's objects, dropped at its end, where nothing may unwind.
#[derive(Default)]
struct Arena(RefCell<Vec<Any1>>);

impl Drop for Arena {
    fn drop(&mut self) {
        while let Some(object) = self.0.get_mut().pop() {
            quietly(|| drop(object));
        }
    }
}

/// The arena that an OS thread has.
enum Mine {
    /// Its own.
    Own(Rc<Arena>),
    /// That of the thread that it stands in for, or none; see [`Home`].
    Brought(Weak<Arena>),
}

impl Mine {
    fn new() -> Mine {
        let is_carrier = cfg!(leno_baton)
            && std::thread::current().name().is_some_and(|name| name == "leno baton");
        if is_carrier { Mine::Brought(Weak::new()) } else { Mine::Own(Rc::default()) }
    }
}

/// Calls `f` with the arena of the calling thread, if it has one.
fn here<R>(f: impl FnOnce(&mut Vec<Any1>) -> R) -> Option<R> {
    let arena = HERE.try_with(|mine| match &*mine.borrow() {
        Mine::Own(arena) => Some(arena.clone()),
        Mine::Brought(arena) => arena.upgrade(),
    });
    let arena = arena.ok().flatten()?;
    let mut objects = arena.0.borrow_mut();
    Some(f(&mut objects))
}

/// What a coroutine brings along of the thread that makes it.
///
/// On the thread backend each coroutine is an OS thread, with thread-locals of its own. So its body is given the arena
/// of the thread to which the coroutine belongs. A body that has to be `Send` is given none, and then keeps nothing.
#[derive(Clone)]
pub struct Home(Weak<Arena>);

impl Home {
    /// Returns that of the calling thread.
    pub fn here() -> Home {
        let arena = HERE.try_with(|mine| match &*mine.borrow() {
            Mine::Own(arena) if cfg!(leno_baton) => Rc::downgrade(arena),
            Mine::Own(_) => Weak::new(),
            Mine::Brought(arena) => arena.clone(),
        });
        Home(arena.unwrap_or_default())
    }

    /// Gives it to the coroutine that runs; the first that its body does.
    pub fn enter(&self) {
        let _ = HERE.try_with(|mine| match &mut *mine.borrow_mut() {
            Mine::Own(_) => {}
            Mine::Brought(arena) => self.0.clone_into(arena),
        });
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
    LEFT.load(SeqCst) > 0
        && !area::hooks::is_inside()
        && leno::stack_left().is_none_or(|left| left > STACK)
}

/// Takes fuel for an operation that takes much time, besides what each takes.
pub fn spend(fuel: isize) {
    LEFT.fetch_sub(fuel, SeqCst);
}

/// Does one operation.
pub fn act(cx: &Cx<'_>, op: &Op) {
    if !has_fuel() {
        return;
    }
    LEFT.fetch_sub(1, SeqCst);
    DONE.fetch_add(1, SeqCst);
    if TELLS.load(SeqCst) {
        crate::child::note(&format!("  {:?} {op:?}", std::thread::current().id()));
    }
    cx.check();
    let ([x, y, z], (name, act)) = (op.args, area::acts()[op.act]);
    if area::takes_part(name) {
        act(cx, x, y, z);
    }
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
            if !is_own && !swallows() {
                resume_unwind(payload);
            }
            quietly(|| drop(payload));
            None
        }
    }
}

/// Whether one more exit may be caught and not passed on.
pub fn swallows() -> bool {
    SWALLOWED.fetch_add(1, SeqCst) < SWALLOWS
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
    let gone = here(|objects| {
        if objects.len() < ARENA {
            objects.push(own);
            return None;
        }
        let at = usize::from(x) % ARENA;
        Some(std::mem::replace(&mut objects[at], own))
    });
    drop(gone);
    object
}

/// Returns one of the objects of this type in this thread's arena.
pub fn get<T: 'static>(x: u8) -> Option<Rc<T>> {
    let found = here(|objects| {
        let all: Vec<&Any1> = objects.iter().filter(|object| object.is::<T>()).collect();
        (!all.is_empty()).then(|| all[usize::from(x) % all.len()].clone())
    });
    found.flatten().and_then(|object| object.downcast().ok())
}

/// Takes an object out of this thread's arena.
pub fn remove(x: u8) -> Option<Rc<dyn Any>> {
    let taken = here(|objects| {
        let count = objects.len();
        (count > 0).then(|| objects.swap_remove(usize::from(x) % count))
    });
    taken.flatten()
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
