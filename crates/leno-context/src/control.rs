//! The control block: what leno knows about one coroutine.
//!
//! It sits at the top of the coroutine's own stack (one page then holds block and first frames),
//! at an address fixed per slot. [`create`] takes a stack, moves the body below the block and
//! points the context at the body's entry; [`release`] gives the stack back.
//!
//! Who may touch what:
//! - `tag` (id and state) is atomic, and is written by the thread the coroutine belongs to; any
//!   thread may read it, even after the coroutine is gone (see [`crate::Status`]).
//! - everything else belongs to the thread the coroutine belongs to. All of it is in cells: a
//!   handle may still look at the tag while the block already serves another coroutine.
//!
//! Invariant: a context is continued only while the tag says New or Suspended, and the tag says
//! Running from then on until it is left again.

use core::cell::{Cell, UnsafeCell};
use core::panic::Location;
use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};
use std::any::Any;
use std::sync::Mutex;

use crate::name::Name;
use crate::sanitizer;
use crate::stack::{self, Stack, StackError, StackSize, pool};
use crate::switch::{self, Context};
use crate::thread::{self, Thread};
use crate::word::Word;

/// The low bits of a tag; the id is above them.
pub mod bits {
    use crate::status::State;

    /// Never run. With [`SUSPENDED`] set it compares equal to the tag of a suspended one, so that
    /// "may be resumed" is one comparison.
    pub const NEW: u64 = 0;
    /// Between two runs.
    pub const SUSPENDED: u64 = 1;
    /// Running.
    pub const RUNNING: u64 = 2;
    /// Ended.
    pub const FINISHED: u64 = 4;
    /// Operations are traced. Beside the state, so that the fast path tests both at once.
    pub const WATCHED: u64 = 8;
    /// Where the id starts.
    pub const ID_SHIFT: u32 = 4;
    /// All state bits.
    pub const STATE: u64 = SUSPENDED | RUNNING | FINISHED;

    pub(crate) fn state(tag: u64) -> State {
        if tag & FINISHED != 0 {
            State::Finished
        } else if tag & RUNNING != 0 {
            State::Running
        } else if tag & SUSPENDED != 0 {
            State::Suspended
        } else {
            State::New
        }
    }
}

/// What `Control::pins` counts: locks held in the low half, pinned sections in the high half.
pub mod pins {
    /// One lock held.
    pub const LOCK: u32 = 1;
    /// One pinned section entered.
    pub const SECTION: u32 = 1 << 16;
    /// Any lock held.
    pub const LOCKS: u32 = SECTION - 1;
}

/// Who runs a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whoever resumes it.
    Asymmetric,
    /// The members of its ring.
    Member,
    /// The members of its ring, which may be another thread's later; `extra` is its claim.
    Migrant,
    /// Nobody: a stack that several coroutines share; `extra` says who is on it.
    Home,
}

/// The first function on a coroutine's stack. It never returns; it ends in
/// [`crate::unwind::finish`].
pub type Main = unsafe extern "C-unwind" fn(Word, usize, *mut Control) -> !;

/// What is known about a coroutine; see the module.
#[repr(C, align(64))]
pub struct Control {
    pub(crate) context: UnsafeCell<Context>,
    /// The context below this one, for unwinders; with the next field the frame record of the base
    /// frame. Points to `back`, or into a ring's initial member.
    pub(crate) parent: Cell<*mut Context>,
    base_return: Cell<usize>,
    pub(crate) tag: AtomicU64,
    /// Set while this coroutine was resumed by code that was itself unwinding.
    pub(crate) resumed_unwinding: Cell<bool>,
    kind: Cell<Kind>,
    /// Reasons not to be moved to another thread: see [`pins`].
    pub pins: Cell<u32>,
    /// Where whoever resumed this coroutine waits for it.
    pub(crate) back: UnsafeCell<Context>,
    /// The body's entry.
    pub(crate) main: Cell<Main>,
    /// The range of addresses this coroutine runs on: empty if unknown.
    low: Cell<usize>,
    high: Cell<usize>,
    body: Cell<*mut u8>,
    drop_body: Cell<unsafe fn(*mut u8)>,
    stack: UnsafeCell<Option<Stack>>,
    name: UnsafeCell<Name>,
    site: Cell<&'static Location<'static>>,
    pub(crate) payload: Cell<Option<Box<dyn Any + Send>>>,
    /// The ring this coroutine has entered (as its initial member), if any.
    pub entered: Cell<*mut ()>,
    /// The ring this coroutine is a member of, if any.
    pub ring: Cell<*mut ()>,
    /// Its place in that ring's queue.
    pub place: Cell<u64>,
    /// Its coroutine-locals.
    pub locals: Cell<*mut ()>,
    /// What only some kinds have: for a home the block of the coroutine whose frames are on it,
    /// for a migrant its claim.
    pub extra: Cell<*mut ()>,
    own_tool: Cell<sanitizer::Tool>,
    #[cfg(leno_baton)]
    pub(crate) carrier: Cell<crate::switch::Carrier>,
}

/// What a new coroutine is like.
#[derive(Debug)]
pub struct Spec {
    /// Its name in messages.
    pub name: Name,
    /// Where it was made.
    pub site: &'static Location<'static>,
    /// The size of its stack.
    pub size: StackSize,
    /// Who runs it.
    pub kind: Kind,
    /// Whether its operations are traced.
    pub watched: bool,
}

/// Makes a coroutine: takes a stack and moves `body` onto it.
///
/// # Errors
/// When there is no stack; the body is given back.
#[inline(always)]
pub fn create<F>(spec: Spec, body: F, main: Main) -> Result<NonNull<Control>, (StackError, F)> {
    let thread = thread::current();
    let stack = match stack_for::<F>(thread, spec.size) {
        Ok(stack) => stack,
        Err(error) => return Err((error, body)),
    };
    let control = block_of(&stack);
    let limit = stack.limit();
    let mut top = control.cast::<u8>();
    if size_of::<F>() != 0 {
        let align = align_of::<F>().max(16);
        top = top.wrapping_sub(size_of::<F>());
        top = top.wrapping_sub(top.addr() % align);
    }
    let place = top.cast::<F>();
    // SAFETY: inside the stack, which was chosen with room for it, aligned, and ours.
    unsafe { place.write(body) };
    // SAFETY: a fresh stack of ours.
    unsafe { set_up_for(thread, control, spec, Some(stack), main) };
    // SAFETY: never null, and just set up.
    let block = unsafe { NonNull::new_unchecked(control) };
    // SAFETY: as above.
    unsafe { block.as_ref() }.give_body::<F>(place);
    // SAFETY: as above; `top` is below the block, on its stack.
    unsafe { start_at(block, limit, top) };
    thread.count_live(1);
    Ok(block)
}

#[inline(always)]
fn stack_for<F>(thread: &Thread, size: StackSize) -> Result<Stack, StackError> {
    if size_of::<F>() <= 1024 {
        return pool::take_for(thread, size);
    }
    let size = StackSize::holding(size.bytes() + size_of::<F>() + align_of::<F>())?;
    pool::take_for(thread, size)
}

/// Where the control block of a stack is.
#[inline(always)]
pub fn block_of(stack: &Stack) -> *mut Control {
    // SAFETY: the top of a slot has room for the block; tops are 64-aligned.
    unsafe { stack.top().cast::<Control>().sub(1) }
}

/// Writes a control block, field by field: its tag may be read by other threads at any time.
///
/// # Safety
/// `control` is memory for a block that nobody but readers of the tag uses.
pub unsafe fn set_up(control: *mut Control, spec: Spec, stack: Option<Stack>, main: Main) {
    // SAFETY: forwarded.
    unsafe { set_up_for(thread::current(), control, spec, stack, main) };
}

#[inline(always)]
unsafe fn set_up_for(
    thread: &Thread,
    control: *mut Control,
    spec: Spec,
    stack: Option<Stack>,
    main: Main,
) {
    let id = thread.fresh_id();
    let watched = if spec.watched { bits::WATCHED } else { 0 };
    macro_rules! set {
        ($($field:ident: $value:expr,)*) => {
            $(
                // SAFETY: in bounds of the block, which is ours to write.
                unsafe { (&raw mut (*control).$field).write($value) };
            )*
        };
    }
    set! {
        context: UnsafeCell::new(Context::empty()),
        parent: Cell::new(core::ptr::null_mut()),
        back: UnsafeCell::new(Context::empty()),
        base_return: Cell::new(switch::base_return_address()),
        resumed_unwinding: Cell::new(false),
        kind: Cell::new(spec.kind),
        pins: Cell::new(0),
        main: Cell::new(main),
        low: Cell::new(stack.as_ref().map_or(0, |stack| stack.limit().addr())),
        high: Cell::new(stack.as_ref().map_or(0, |stack| stack.top().addr())),
        body: Cell::new(core::ptr::null_mut()),
        drop_body: Cell::new(no_body),
        stack: UnsafeCell::new(stack),
        name: UnsafeCell::new(spec.name),
        site: Cell::new(spec.site),
        payload: Cell::new(None),
        entered: Cell::new(core::ptr::null_mut()),
        ring: Cell::new(core::ptr::null_mut()),
        place: Cell::new(0),
        locals: Cell::new(core::ptr::null_mut()),
        extra: Cell::new(core::ptr::null_mut()),
        own_tool: Cell::new(sanitizer::Tool::EMPTY),
    }
    #[cfg(leno_baton)]
    set! { carrier: Cell::new(None), }
    // SAFETY: the tag is always accessed atomically.
    let tag = unsafe { &(*control).tag };
    tag.store(id << bits::ID_SHIFT | bits::NEW | watched, Release);
}

unsafe fn no_body(_: *mut u8) {}

/// Points a new coroutine's context at its main, on the stack from `limit` up to `top`.
///
/// # Safety
/// `control` is set up; the memory is its stack.
#[inline(always)]
pub unsafe fn start_at(control: NonNull<Control>, limit: *mut u8, top: *mut u8) {
    let top = top.wrapping_sub(top.addr() % 16);
    // SAFETY: set up by the contract.
    let block = unsafe { control.as_ref() };
    // SAFETY: nobody uses the context of a coroutine that is being made.
    unsafe { block.context.get().write(Context::fresh(control, top)) };
    block.set_parent(block.back());
    // SAFETY: the context was just written.
    block.own_tool.set(unsafe { sanitizer::born(block.context.get(), limit, top) });
}

/// Ends a coroutine's control block and gives its stack back, if it has one of its own.
///
/// # Safety
/// The coroutine has finished or never started, its body is taken or dropped, nobody runs on its
/// stack, and nobody uses the block afterwards (reading its tag excepted).
#[inline(always)]
pub unsafe fn release(control: NonNull<Control>) {
    let thread = thread::current();
    // SAFETY: live by the contract.
    let block = unsafe { control.as_ref() };
    block.mark(bits::FINISHED);
    drop(block.payload.take());
    // SAFETY: nobody else uses the block.
    drop(unsafe { block.name.get().replace(Name::NONE) });
    #[cfg(leno_baton)]
    switch::retire(block);
    thread.count_live(-1);
    // SAFETY: nobody else uses the block.
    let stack = unsafe { block.stack.get().replace(None) };
    let (low, high) = match &stack {
        Some(stack) => (stack.limit(), stack.top()),
        None => (core::ptr::null_mut(), core::ptr::null_mut()),
    };
    // SAFETY: nobody runs on it.
    unsafe { sanitizer::gone(block.own_tool.get(), low, high) };
    if let Some(stack) = stack {
        pool::give_back_to(thread, stack);
    }
}

impl Control {
    /// Id and state bits as they are.
    #[inline(always)]
    pub fn load_tag(&self) -> u64 {
        self.tag.load(Relaxed)
    }

    /// Writes the whole tag. The id in it must be this coroutine's.
    #[inline(always)]
    pub fn store_tag(&self, tag: u64) {
        self.tag.store(tag, Release);
    }

    /// Changes the state, keeping id and watch bit.
    #[inline(always)]
    pub fn mark(&self, state: u64) {
        self.store_tag(self.load_tag() & !bits::STATE | state);
    }

    /// Turns tracing of this coroutine on or off.
    pub fn watch(&self, on: bool) {
        let tag = self.load_tag() & !bits::WATCHED;
        self.store_tag(if on { tag | bits::WATCHED } else { tag });
    }

    /// Whether operations on this coroutine are traced.
    #[inline(always)]
    pub fn watched(&self) -> bool {
        self.load_tag() & bits::WATCHED != 0
    }

    /// The coroutine's id.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        self.load_tag() >> bits::ID_SHIFT
    }

    /// What it is doing.
    pub fn state(&self) -> crate::State {
        bits::state(self.load_tag())
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        // SAFETY: changed only by `release`, after which nobody uses the block.
        unsafe { &*self.name.get() }
    }

    /// Where it was made.
    pub fn site(&self) -> &'static Location<'static> {
        self.site.get()
    }

    /// Who runs it.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        self.kind.get()
    }

    /// The stack it has to itself.
    #[inline(always)]
    pub fn stack(&self) -> Option<&Stack> {
        // SAFETY: changed only by `release`, after which nobody uses the block.
        unsafe { &*self.stack.get() }.as_ref()
    }

    /// Its name or id, quoted for messages.
    pub fn shown(&self) -> impl core::fmt::Display + '_ {
        self.name().or_id(self.id())
    }

    /// Where it continues.
    #[inline(always)]
    pub fn context(&self) -> *mut Context {
        self.context.get()
    }

    /// Where whoever resumed it waits for it.
    #[inline(always)]
    pub fn back(&self) -> *mut Context {
        self.back.get()
    }

    /// The context that unwinders find below its base frame.
    pub fn parent(&self) -> *mut Context {
        self.parent.get()
    }

    /// Sets the context that unwinders find below its base frame.
    pub fn set_parent(&self, parent: *mut Context) {
        self.parent.set(parent);
    }

    /// Says which addresses it runs on, for a block without a stack of its own.
    pub fn set_range(&self, low: usize, high: usize) {
        self.low.set(low);
        self.high.set(high);
    }

    /// Whether `address` is on the stack this coroutine runs on, as far as that is known.
    #[inline(always)]
    pub fn holds(&self, address: usize) -> bool {
        let low = self.low.get();
        address.wrapping_sub(low) < self.high.get().wrapping_sub(low)
    }

    /// Whether the calling code runs on this coroutine's stack, as far as that is known.
    #[inline(always)]
    pub fn is_here(&self) -> bool {
        #[cfg(leno_baton)]
        return core::ptr::eq(self, switch::own_control());
        #[cfg(not(leno_baton))]
        self.holds(switch::stack_pointer())
    }

    /// Says where the body is. It is taken by [`Self::take_body`] or dropped by
    /// [`Self::drop_body`], once.
    pub fn give_body<F>(&self, place: *mut F) {
        unsafe fn drop_it<F>(place: *mut u8) {
            // SAFETY: called once, with the place of a live `F`.
            unsafe { place.cast::<F>().drop_in_place() }
        }
        self.body.set(place.cast());
        self.drop_body.set(drop_it::<F>);
    }

    /// Says that the body is on the heap. It is taken by [`Self::take_boxed_body`] or dropped by
    /// [`Self::drop_body`], once.
    pub fn give_boxed_body<F>(&self, body: Box<F>) {
        unsafe fn drop_it<F>(place: *mut u8) {
            // SAFETY: called once, with what `Box::into_raw` gave below.
            drop(unsafe { Box::from_raw(place.cast::<F>()) });
        }
        self.body.set(Box::into_raw(body).cast());
        self.drop_body.set(drop_it::<F>);
    }

    /// Takes the body from the heap to run it.
    ///
    /// # Safety
    /// The body was given by [`Self::give_boxed_body`] with this type, and neither taken nor
    /// dropped.
    pub unsafe fn take_boxed_body<F>(&self) -> F {
        // SAFETY: by the contract.
        *unsafe { Box::from_raw(self.body.get().cast::<F>()) }
    }

    /// Takes the body to run it.
    ///
    /// # Safety
    /// The coroutine was created with a body of this type that was neither taken nor dropped.
    #[inline(always)]
    pub unsafe fn take_body<F>(&self) -> F {
        // SAFETY: holds an `F` by the contract.
        unsafe { self.body.get().cast::<F>().read() }
    }

    /// Drops the body of a coroutine that never ran.
    ///
    /// # Safety
    /// The body was neither taken nor dropped. It may run user code, which may panic.
    pub unsafe fn drop_body(&self) {
        // SAFETY: by the contract.
        unsafe { self.drop_body.get()(self.body.get()) };
    }

    /// The panic that ended the coroutine, if it is still there.
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.payload.take()
    }
}

/// Memory for a control block without a stack, never unmapped. Give it back with
/// [`give_back_block`].
pub fn spare_block() -> NonNull<Control> {
    let spare = SPARE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
    match spare {
        Some(Spare(block)) => block,
        None => more_blocks(),
    }
}

#[cold]
fn more_blocks() -> NonNull<Control> {
    let chunk: Box<[Control]> = (0..32).map(|_| Control::nobody()).collect();
    let mut blocks = Box::leak(chunk).iter_mut().map(NonNull::from_mut);
    let first = blocks.next().expect("a chunk has blocks");
    let mut spare = SPARE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    spare.extend(blocks.map(Spare));
    first
}

/// Returns memory from [`spare_block`], whose coroutine has ended.
///
/// # Safety
/// Nobody uses the block afterwards (reading its tag excepted).
pub unsafe fn give_back_block(block: NonNull<Control>) {
    // SAFETY: live by the contract.
    unsafe { block.as_ref() }.mark(bits::FINISHED);
    SPARE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(Spare(block));
}

static SPARE: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

struct Spare(NonNull<Control>);
// SAFETY: plain memory that nobody uses.
unsafe impl Send for Spare {}

impl Control {
    const fn nobody() -> Control {
        unsafe extern "C-unwind" fn never(_: Word, _: usize, _: *mut Control) -> ! {
            unreachable!("nobody's main was entered")
        }
        Control {
            context: UnsafeCell::new(Context::empty()),
            parent: Cell::new(core::ptr::null_mut()),
            back: UnsafeCell::new(Context::empty()),
            base_return: Cell::new(0),
            tag: AtomicU64::new(bits::FINISHED),
            resumed_unwinding: Cell::new(false),
            kind: Cell::new(Kind::Asymmetric),
            pins: Cell::new(0),
            main: Cell::new(never),
            low: Cell::new(0),
            high: Cell::new(0),
            body: Cell::new(core::ptr::null_mut()),
            drop_body: Cell::new(no_body),
            stack: UnsafeCell::new(None),
            name: UnsafeCell::new(Name::NONE),
            site: Cell::new(Location::caller()),
            payload: Cell::new(None),
            entered: Cell::new(core::ptr::null_mut()),
            ring: Cell::new(core::ptr::null_mut()),
            place: Cell::new(0),
            locals: Cell::new(core::ptr::null_mut()),
            extra: Cell::new(core::ptr::null_mut()),
            own_tool: Cell::new(sanitizer::Tool::EMPTY),
            #[cfg(leno_baton)]
            carrier: Cell::new(None),
        }
    }
}

/// The control block of the coroutine that is running, by the stack it runs on; null on a plain
/// thread (or on a stack that is not leno's).
pub fn current() -> *mut Control {
    #[cfg(leno_baton)]
    return switch::own_control();
    #[cfg(not(leno_baton))]
    owner_of(switch::stack_pointer())
}

/// The control block of the coroutine whose stack `address` is on; null if none.
pub fn owner_of(address: usize) -> *mut Control {
    let Some(block) = block_at(address) else { return core::ptr::null_mut() };
    // SAFETY: live.
    let control = unsafe { block.as_ref() };
    if control.kind() == Kind::Home { control.extra.get().cast() } else { block.as_ptr() }
}

/// The control block at the top of the stack that `address` is on, which may be a home's.
pub fn block_at(address: usize) -> Option<NonNull<Control>> {
    let (slab, slot, guard) = stack::locate(address)?;
    // In use, so its block is set up.
    let used = !guard && slab.owner(slot).load(Relaxed) != 0;
    if used { NonNull::new(block_of(&Stack::of(slab, slot))) } else { None }
}

/// The control blocks of all live coroutines of this thread that have a stack to themselves, and
/// of all homes.
pub fn of_this_thread() -> Vec<NonNull<Control>> {
    let thread = thread::current().number();
    let slots = stack::slab::all().flat_map(|slab| {
        slab.used_by(Some(thread)).map(move |slot| block_of(&Stack::of(slab, slot)))
    });
    slots.filter_map(NonNull::new).collect()
}

/// Marks the stack of a coroutine that may change threads: it is then listed with no thread's
/// coroutines, because another thread may take it at any time.
pub fn set_wandering(control: &Control) {
    if let Some(stack) = control.stack() {
        stack.slab.owner(stack.slot).store(u32::MAX, Relaxed);
    }
}
