//! Making and releasing coroutines.

use core::cell::{Cell, UnsafeCell};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Release;

use super::{Control, Main, Spec, Unwinding, bits, block_of};
use crate::name::Name;
use crate::sanitizer;
use crate::stack::{Stack, StackError, StackSize, pool};
use crate::switch::{self, Context};
use crate::thread::{self, Block};
use crate::user::Panic;

/// How many copies of a large body may be on the stack at once, in a debug build.
const BODY_MOVES: usize = 5;

/// Makes a coroutine: takes a stack and moves `body` onto it. The body is passed by reference
/// because it may be large, and every move costs stack in a debug build.
///
/// # Errors
/// When there is no stack; the body stays where it is, the rest is given back.
///
/// # Safety
/// After success the body has been moved out.
#[inline(always)]
pub unsafe fn create<F>(
    spec: Spec,
    body: &mut ManuallyDrop<F>,
    main: Main,
) -> Result<NonNull<Control>, (StackError, Spec)> {
    let thread = thread::block();
    let stack = match stack_for::<F>(thread, spec.size) {
        Ok(stack) => stack,
        Err(why) => return Err((why, spec)),
    };
    let control = block_of(&stack);
    let limit = stack.limit();
    let mut top = control.cast::<u8>();
    if size_of::<F>() != 0 {
        let align = align_of::<F>().max(16);
        top = top.wrapping_sub(size_of::<F>());
        top = top.wrapping_sub(top.addr() % align);
    }
    let place = top.cast::<ManuallyDrop<F>>();
    // SAFETY: inside the stack, which was chosen with room for it, aligned, and ours; the caller
    // does not use it any more.
    unsafe { place.copy_from_nonoverlapping(body, 1) };
    // SAFETY: memory of a slot, zeroed or a block; the field is in a cell.
    let known = unsafe { &(*control).base_return }.get();
    if known == switch::base_return_address() {
        // SAFETY: a stack of ours whose block was released.
        unsafe { set_up_again(thread, control, spec, main) };
    } else {
        // SAFETY: a fresh stack of ours.
        unsafe { set_up_first(thread, control, spec, stack, main) };
    }
    // SAFETY: never null, and just set up.
    let block = unsafe { NonNull::new_unchecked(control) };
    // SAFETY: as above.
    unsafe { block.as_ref() }.give_body::<F>(place.cast());
    // SAFETY: as above; `top` is below the block, on its stack.
    unsafe { start_at(block, limit, top) };
    thread.count_live(1);
    Ok(block)
}

#[inline(always)]
fn stack_for<F>(thread: &Block, size: StackSize) -> Result<Stack, StackError> {
    if size_of::<F>() <= 1024 {
        return pool::take_for(thread, size);
    }
    // It is moved a few times on its way to where it runs.
    let moved = size_of::<F>().saturating_mul(BODY_MOVES) + align_of::<F>();
    let size = StackSize::holding(size.bytes().saturating_add(moved))?;
    pool::take_for(thread, size)
}

/// Writes a control block, field by field: its tag may be read by other threads at any time.
///
/// # Safety
/// `control` is memory for a block that nobody but readers of the tag uses.
pub unsafe fn set_up(control: *mut Control, spec: Spec, stack: Option<Stack>, main: Main) {
    // SAFETY: forwarded.
    unsafe { set_up_for(thread::block(), control, spec, stack, main) };
}

#[inline(always)]
unsafe fn set_up_for(
    thread: &Block,
    control: *mut Control,
    spec: Spec,
    stack: Option<Stack>,
    main: Main,
) {
    let (low, high) = match &stack {
        Some(stack) => (stack.limit().addr(), stack.top().addr()),
        None => (0, 0),
    };
    let span = if low == 0 { 0 } else { control.addr() - low };
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
        unwinding: Cell::new(Unwinding::default()),
        kind: Cell::new(spec.kind),
        pins: Cell::new(0),
        main: Cell::new(main),
        low: Cell::new(low),
        high: Cell::new(high),
        span: Cell::new(span as u32),
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

pub(super) unsafe fn no_body(_: *mut u8) {}

/// A stack that is used for the first time, or whose memory was returned to the system meanwhile.
#[cold]
#[inline(never)]
unsafe fn set_up_first(
    thread: &Block,
    control: *mut Control,
    spec: Spec,
    stack: Stack,
    main: Main,
) {
    // SAFETY: forwarded.
    unsafe { set_up_for(thread, control, spec, Some(stack), main) };
}

/// A stack that was used before: [`release`] has left its block as [`set_up`] makes it, but for
/// what differs from coroutine to coroutine.
///
/// # Safety
/// `control` was released, and nobody but readers of the tag uses it.
#[inline(always)]
unsafe fn set_up_again(thread: &Block, control: *mut Control, spec: Spec, main: Main) {
    // SAFETY: a block, and ours.
    let block = unsafe { &*control };
    block.kind.set(spec.kind);
    block.main.set(main);
    block.site.set(spec.site);
    if spec.name != Name::NONE {
        // SAFETY: nobody refers to the name of a released block, which is none.
        unsafe { block.name.get().write(spec.name) };
    }
    let watched = if spec.watched { bits::WATCHED } else { 0 };
    block.store_tag(thread.fresh_id() << bits::ID_SHIFT | bits::NEW | watched);
}

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
    let thread = thread::block();
    // SAFETY: live by the contract.
    let block = unsafe { control.as_ref() };
    block.mark(bits::FINISHED);
    let payload = block.payload.take();
    if *block.name() != Name::NONE {
        // SAFETY: nobody else uses the block.
        drop(unsafe { block.name.get().replace(Name::NONE) });
    }
    block.ring.set(core::ptr::null_mut());
    block.extra.set(core::ptr::null_mut());
    // Leaked, if something was called after they were cleared: the next one on this stack, maybe on another
    // thread, must not have them.
    block.locals.set(core::ptr::null_mut());
    block.pins.set(0);
    block.unwinding.set(Unwinding::NONE);
    #[cfg(leno_baton)]
    switch::retire(block);
    thread.count_live(-1);
    // The block keeps its own record of its stack, for the next coroutine on it.
    // SAFETY: the stack is given back below, once; the record stays behind without being used.
    let stack = unsafe { block.stack.get().read() };
    let (low, high) = match &stack {
        Some(stack) => (stack.limit(), stack.top()),
        None => (core::ptr::null_mut(), core::ptr::null_mut()),
    };
    // SAFETY: nobody runs on it.
    unsafe { sanitizer::gone(block.own_tool.get(), low, high) };
    if let Some(stack) = stack {
        pool::give_back_to(thread, stack);
    }
    // Its `Drop` is user code: the coroutine is gone by now.
    drop(payload.map(Panic::new));
}
