//! Home stacks: which coroutine's frames are on which, and copying them in and out.
//!
//! A *home* is a pool stack that several coroutines run on in turn. Its *occupant* is the one
//! whose frames are there; the frames of the others are *stored* in buffers on the heap. Frames
//! always come back to the address they were at, so pointers into them stay good while their
//! coroutine runs.
//!
//! Switching has two halves. [`prepare`] may fail: it finds out whether the occupant's frames can
//! be copied out, and gets the memory for that. [`bring_in`] cannot fail; it does the copying.

use core::cell::{Cell, RefCell};
use core::ptr::NonNull;

use leno_context::control::{self, Control, Kind, Spec};
use leno_context::stack::{self, StackError, StackSize};
use leno_context::switch::{self, Context};
use leno_context::word::Word;
use leno_context::{Name, State};

use super::Stacks;
use crate::shared::Counters;

/// Bytes of stack between the preparation of a call and its switch.
const CALL_FRAMES: usize = 1024;

/// A stack that several coroutines share.
pub(crate) struct Home {
    /// The block at the top of the stack, which tells unwinders and overflow reports
    /// who is on it.
    block: NonNull<Control>,
    occupant: Cell<Option<NonNull<Record>>>,
    low: *mut u8,
    top: *mut u8,
    counters: Cell<Counters>,
    /// The coroutines bound to it.
    bound: RefCell<Vec<NonNull<Record>>>,
}

/// What a shared coroutine has beside its control block.
pub(crate) struct Record {
    pub(super) control: NonNull<Control>,
    pub(super) home: NonNull<Home>,
    /// Its place among those bound to its home.
    index: Cell<usize>,
    /// Its frames while it is stored, from its stack pointer up to the home's top.
    frames: RefCell<Vec<u8>>,
    stored: Cell<usize>,
    /// Where it waits, in its own frames, for a coroutine it has called through the copier; null
    /// if it does not.
    pub(super) waits_in: Cell<*mut Context>,
    /// Keeps its home alive.
    stacks: Cell<Option<Stacks>>,
}

/// Why a coroutine cannot be brought onto its home.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// The occupant is in the middle of a call to a coroutine that has a stack of its own, or waits in its frames for
    /// something that refers to them.
    Occupied(NonNull<Record>),
    /// No memory for the occupant's frames.
    NoMemory,
}

unsafe extern "C-unwind" fn never(_: Word, _: usize, _: *mut Control) -> ! {
    unreachable!("a home is not a coroutine")
}

impl Home {
    pub(super) fn new(
        size: StackSize,
        site: &'static core::panic::Location<'static>,
    ) -> Result<NonNull<Home>, StackError> {
        if cfg!(leno_baton) {
            panic!("the baton backend cannot share stacks");
        }
        // SAFETY: its block is set up below.
        let stack = unsafe { stack::take(size) }?;
        let (block, low) = (control::block_of(&stack), stack.limit());
        let spec = Spec { name: Name::from("home"), site, size, kind: Kind::Home, watched: false };
        // SAFETY: a fresh stack of ours.
        unsafe { control::set_up(block, spec, Some(stack), never) };
        // SAFETY: a block of this thread was set up; a home is counted like a coroutine.
        unsafe { leno_context::thread::current().count_live(1) };
        leno_context::thread::current().shares_stacks();
        // SAFETY: never null.
        let block = unsafe { NonNull::new_unchecked(block) };
        let home = NonNull::from_mut(Box::leak(Box::new(Home {
            block,
            occupant: Cell::new(None),
            low,
            top: block.as_ptr().cast(),
            counters: Cell::default(),
            bound: RefCell::default(),
        })));
        // SAFETY: just set up. A home's block has no use for its ring, so it says which home.
        unsafe { block.as_ref() }.ring.set(home.as_ptr().cast());
        Ok(home)
    }

    /// The coroutine that is running, if it is on a home.
    #[inline]
    pub(super) fn running() -> Option<NonNull<Record>> {
        let block = control::block_at(switch::stack_pointer())?;
        // SAFETY: in use, by the running code.
        let block = unsafe { block.as_ref() };
        let home = block.ring.get().cast::<Home>();
        if block.kind() != Kind::Home || home.is_null() {
            return None;
        }
        // SAFETY: someone runs on it, so it is there.
        unsafe { &*home }.occupant()
    }

    /// Gives the stack back.
    ///
    /// # Safety
    /// No coroutine is bound to the home any more, and nobody uses it afterwards.
    pub(super) unsafe fn free(home: NonNull<Home>) {
        // SAFETY: leaked by `new`.
        let home = unsafe { Box::from_raw(home.as_ptr()) };
        // SAFETY: nobody runs on it.
        unsafe { control::release(home.block) };
    }

    /// Binds a coroutine to this home, for as long as it lives.
    pub(super) fn bind(&self, record: NonNull<Record>) {
        let mut bound = self.bound.borrow_mut();
        // SAFETY: just made.
        unsafe { record.as_ref() }.index.set(bound.len());
        bound.push(record);
    }

    /// Forgets a coroutine that has ended.
    pub(super) fn unbind(&self, record: &Record) {
        let mut bound = self.bound.borrow_mut();
        let index = record.index.get();
        bound.swap_remove(index);
        if let Some(moved) = bound.get(index) {
            // SAFETY: whoever is bound is live.
            unsafe { moved.as_ref() }.index.set(index);
        }
    }

    /// Whether nobody is bound to it.
    pub(super) fn is_unused(&self) -> bool {
        self.bound.borrow().is_empty()
    }

    /// Calls `f` with the block of each coroutine on the home that `block` belongs to.
    pub(crate) fn for_each(block: &Control, mut f: impl FnMut(&Control)) {
        // SAFETY: a home's block points to its home; a copier's, which is no home, to nothing.
        let Some(home) = (unsafe { block.ring.get().cast::<Home>().as_ref() }) else { return };
        for record in home.bound.borrow().iter() {
            // SAFETY: whoever is bound is live.
            f(unsafe { record.as_ref() }.block());
        }
    }

    pub(super) fn range(&self) -> (*mut u8, *mut u8) {
        (self.low, self.top)
    }

    pub(super) fn holds(&self, address: usize) -> bool {
        (self.low.addr()..self.top.addr()).contains(&address)
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters.get()
    }

    pub(super) fn set_occupant(&self, record: Option<NonNull<Record>>) {
        self.occupant.set(record);
        let control = record.map_or(core::ptr::null_mut(), |record| {
            // SAFETY: an occupant is live.
            unsafe { record.as_ref() }.control.as_ptr()
        });
        // SAFETY: the home's block is live as long as the home.
        unsafe { self.block.as_ref() }.extra.set(control.cast());
    }

    pub(super) fn occupant(&self) -> Option<NonNull<Record>> {
        self.occupant.get()
    }

    fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }
}

impl Record {
    /// The record of a coroutine that was just made, bound to a home of these stacks. It is leaked:
    /// see [`Self::free`] and [`Self::give_up`].
    pub(super) fn new(
        control: NonNull<Control>,
        home: NonNull<Home>,
        stacks: Stacks,
    ) -> NonNull<Record> {
        let record = NonNull::from_mut(Box::leak(Box::new(Record {
            control,
            home,
            index: Cell::new(0),
            frames: RefCell::default(),
            stored: Cell::new(0),
            waits_in: Cell::new(core::ptr::null_mut()),
            stacks: Cell::new(Some(stacks)),
        })));
        // SAFETY: a home outlives the coroutines bound to it.
        unsafe { home.as_ref() }.bind(record);
        record
    }

    /// Ends a coroutine that has finished or never started: its block and its place on its home.
    ///
    /// # Safety
    /// As for [`control::release`].
    pub(super) unsafe fn release(&self) {
        if self.is_resident() {
            self.home().set_occupant(None);
        }
        self.home().unbind(self);
        // SAFETY: forwarded.
        unsafe { control::release(self.control) };
        // SAFETY: the record does not use it any more.
        unsafe { control::give_back_block(self.control) };
    }

    /// Frees the record of a coroutine that has been released.
    ///
    /// # Safety
    /// Nobody uses it afterwards, and nobody runs on its home who is not bound to it.
    pub(super) unsafe fn free(record: NonNull<Record>) {
        // SAFETY: leaked by `new`.
        drop(unsafe { Box::from_raw(record.as_ptr()) });
    }

    /// Leaves the record of a coroutine that cannot be ended: with it its home stays, but not the
    /// other homes of its stacks.
    pub(super) fn give_up(&self) {
        self.stacks.take();
    }

    #[inline(always)]
    pub(super) fn home(&self) -> &Home {
        // SAFETY: a home outlives the coroutines bound to it.
        unsafe { self.home.as_ref() }
    }

    #[inline(always)]
    pub(super) fn block(&self) -> &Control {
        // SAFETY: live as long as the record.
        unsafe { self.control.as_ref() }
    }

    pub(super) fn is_resident(&self) -> bool {
        self.home().occupant() == Some(NonNull::from_ref(self))
    }

    /// Where its frames begin, if it is not running there right now; it is resident.
    fn lowest(&self) -> Option<usize> {
        let lowest = match self.block().state() {
            State::Finished | State::New => return Some(self.home().top.addr()),
            State::Suspended => self.block().context(),
            State::Running => self.waits_in.get(),
        };
        if lowest.is_null() {
            return None;
        }
        // SAFETY: the context of a coroutine that is not running does not change, and its frames
        // are in place, as the caller knows.
        let lowest = unsafe { &*lowest }.stack_pointer();
        self.home().holds(lowest).then_some(lowest)
    }

    /// Where something on its stored frames is now.
    pub(super) fn stored_address(&self, address: *mut ()) -> *mut () {
        let top = self.home().top.addr();
        let mut frames = self.frames.borrow_mut();
        let offset = address.addr() - (top - self.stored.get());
        frames.as_mut_ptr().wrapping_add(offset).cast()
    }
}

/// The first half: makes sure that `record` can be brought in.
#[inline]
pub(super) fn prepare(record: &Record) -> Result<(), Obstacle> {
    let home = record.home();
    match home.occupant() {
        None => Ok(()),
        Some(occupant) if occupant == NonNull::from_ref(record) => Ok(()),
        Some(occupant) => {
            // SAFETY: live as long as the home.
            if control::are_held(unsafe { home.block.as_ref() }) {
                return Err(Obstacle::Occupied(occupant));
            }
            // SAFETY: an occupant is live.
            let other = unsafe { occupant.as_ref() };
            let here = switch::stack_pointer();
            let lowest = match other.lowest() {
                Some(lowest) => lowest,
                // The caller itself: it goes a little deeper before it waits.
                None if home.holds(here) => here.saturating_sub(CALL_FRAMES),
                None => return Err(Obstacle::Occupied(occupant)),
            };
            let size = home.top.addr() - lowest;
            let mut frames = other.frames.borrow_mut();
            frames.clear();
            frames.try_reserve_exact(size).map_err(|_| Obstacle::NoMemory)
        }
    }
}

/// The second half: copies the occupant's frames out and `record`'s in.
///
/// # Safety
/// [`prepare`] succeeded just before, and the calling code is not on the home.
#[inline]
pub(super) unsafe fn bring_in(record: NonNull<Record>) {
    // SAFETY: live by the contract.
    let own = unsafe { record.as_ref() };
    let home = own.home();
    match home.occupant() {
        Some(occupant) if occupant == record => return home.count(|n| n.direct += 1),
        Some(occupant) => {
            // SAFETY: an occupant is live.
            let other = unsafe { occupant.as_ref() };
            // SAFETY: as for `bring_in`.
            unsafe { rescue(home, other) };
        }
        None => {}
    }
    home.set_occupant(Some(record));
    let size = own.stored.replace(0);
    if size == 0 {
        return;
    }
    let frames = own.frames.borrow();
    let place = home.top.wrapping_sub(size);
    // SAFETY: these bytes were copied from there; the home is free.
    unsafe { place.copy_from_nonoverlapping(frames.as_ptr(), size) };
    home.count(|n| {
        n.restores += 1;
        n.bytes += size as u64;
    });
}

/// # Safety
/// `other` occupies `home`, has room for its frames, and the calling code is not on the home.
unsafe fn rescue(home: &Home, other: &Record) {
    let size = other.lowest().map_or(0, |lowest| home.top.addr() - lowest);
    let mut frames = other.frames.borrow_mut();
    frames.clear();
    // Room enough after `prepare`, unless a caller went deeper than foreseen.
    frames.reserve_exact(size);
    let place = home.top.wrapping_sub(size);
    // SAFETY: live frames on the home, whose owner is not running; reserved by `prepare`.
    unsafe { frames.as_mut_ptr().copy_from_nonoverlapping(place, size) };
    // SAFETY: just written.
    unsafe { frames.set_len(size) };
    other.stored.set(size);
    home.count(|n| {
        n.rescues += 1;
        n.bytes += size as u64;
    });
}
