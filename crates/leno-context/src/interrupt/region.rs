//! Regions in which a coroutine may be interrupted, and sections of them in which it may not.
//!
//! The handler looks at one word, `within`. It names a coroutine exactly while code on that coroutine's
//! stack runs in a region of its, outside of all sections of that region. The rest is book-keeping for the
//! two kinds of guards, which safe code may drop in any order and at any time: after the region has
//! ended, inside another one, in another coroutine, or never.
//!
//! - Each region has a number, which no other region of the thread ever has, and counts its open sections.
//! - A section belongs to the innermost region of the coroutine that opens it. When the last one of a region
//!   is closed, by its coroutine, that may be interrupted again. Closed by anybody else, the region stays
//!   as it is until its coroutine opens and closes another one.
//! - A section whose region has ended does nothing when it is closed.
//!
//! The list of regions changes only while `within` is null, so no interruption comes in between.

use core::cell::{Cell, RefCell};
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};

use super::{Interrupts, backend};
use crate::control::{self, Control};
use crate::thread;

/// The regions that coroutines of a thread have entered and not left.
#[derive(Debug)]
pub(crate) struct Regions {
    entered: RefCell<Vec<Region>>,
    /// How many they are: what is looked at first.
    count: Cell<usize>,
    last: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    number: u64,
    control: *mut Control,
    /// Its open sections.
    held: usize,
}

impl Regions {
    pub(super) const fn new() -> Regions {
        Regions { entered: RefCell::new(Vec::new()), count: Cell::new(0), last: Cell::new(0) }
    }

    fn add(&self, control: *mut Control) -> u64 {
        let number = self.last.get() + 1;
        self.last.set(number);
        self.entered.borrow_mut().push(Region { number, control, held: 0 });
        self.count.set(self.count.get() + 1);
        number
    }

    fn remove(&self, number: u64) {
        let mut entered = self.entered.borrow_mut();
        entered.retain(|region| region.number != number);
        self.count.set(entered.len());
    }

    /// The coroutine, if it is in a region, and in no section of the innermost one.
    fn within(&self, control: *mut Control) -> *mut Control {
        let entered = self.entered.borrow();
        let innermost = entered.iter().rev().find(|region| region.control == control);
        if innermost.is_some_and(|region| region.held == 0) {
            control
        } else {
            core::ptr::null_mut()
        }
    }

    /// Opens a section of the innermost region of the coroutine: the region's number.
    fn open(&self, control: *mut Control) -> Option<u64> {
        let mut entered = self.entered.borrow_mut();
        let region = entered.iter_mut().rev().find(|region| region.control == control)?;
        region.held += 1;
        Some(region.number)
    }

    /// Closes a section of the region with this number: its coroutine, if the region is still there.
    fn close(&self, number: u64) -> Option<*mut Control> {
        let mut entered = self.entered.borrow_mut();
        let region = entered.iter_mut().rev().find(|region| region.number == number)?;
        region.held = region.held.saturating_sub(1);
        Some(region.control)
    }
}

impl Interrupts {
    /// Nobody may be interrupted; who might have been.
    #[inline(always)]
    fn hold_all(&self) -> *mut Control {
        let within = self.within.load(Relaxed);
        self.within.store(core::ptr::null_mut(), Relaxed);
        compiler_fence(SeqCst);
        within
    }

    /// This one may be interrupted.
    #[inline(always)]
    fn let_go(&self, within: *mut Control) {
        compiler_fence(SeqCst);
        self.within.store(within, Relaxed);
    }
}

/// Opts in: from now until the guard is dropped, the running coroutine may be interrupted at any
/// instruction on its stack.
///
/// # Safety
/// `control` is the running coroutine's, on whose stack the guard is and stays, and stays with this
/// thread. The code that runs until the guard is dropped keeps the contract of the kernel's
/// `preempt_anywhere`. [`super::prepare_with`] has succeeded.
pub unsafe fn enter(control: NonNull<Control>) -> Within {
    let own = &thread::block().interrupts;
    own.modes.set(backend::modes());
    own.hold_all();
    let number = own.regions.add(control.as_ptr());
    own.let_go(control.as_ptr());
    Within { number, control: control.as_ptr(), local: PhantomData }
}

/// While this is there, code on its coroutine's stack may be interrupted; see [`enter`].
#[must_use = "the region ends when this is dropped"]
#[derive(Debug)]
pub struct Within {
    number: u64,
    control: *mut Control,
    local: PhantomData<*const ()>,
}

impl Drop for Within {
    fn drop(&mut self) {
        let own = &thread::block().interrupts;
        own.hold_all();
        own.regions.remove(self.number);
        own.let_go(own.regions.within(self.control));
    }
}

/// Whether the calling code may be interrupted.
#[inline(always)]
pub fn is_within() -> bool {
    !thread::block().interrupts.within.load(Relaxed).is_null()
}

/// Opens a section: until the guard is dropped, the running coroutine is not interrupted. For what an
/// interruption must not cut in two. The coroutine may suspend meanwhile; whoever runs then is not
/// concerned.
#[inline(always)]
pub fn hold() -> Held {
    let own = &thread::block().interrupts;
    if own.regions.count.get() == 0 {
        return Held { region: None, local: PhantomData };
    }
    hold_in(own)
}

#[inline(never)]
fn hold_in(own: &Interrupts) -> Held {
    let within = own.hold_all();
    let region = own.regions.open(control::current());
    if region.is_none() {
        own.let_go(within);
    }
    Held { region, local: PhantomData }
}

/// See [`hold`].
#[must_use = "the section ends when this is dropped"]
#[derive(Debug)]
pub struct Held {
    /// The number of the region that it is a section of.
    region: Option<u64>,
    local: PhantomData<*const ()>,
}

impl Held {
    /// Whether it was opened in a region.
    #[inline(always)]
    pub fn was_within(&self) -> bool {
        self.region.is_some()
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(region) = self.region {
            close(region);
        }
    }
}

#[inline(never)]
fn close(region: u64) {
    let own = &thread::block().interrupts;
    let within = own.hold_all();
    match own.regions.close(region) {
        Some(control) if control == control::current() => own.let_go(own.regions.within(control)),
        // Where somebody else is within, it stays so.
        _ => own.let_go(within),
    }
}

#[cfg(test)]
mod tests;
