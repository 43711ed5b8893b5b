//! Control blocks without a stack: for initial members of rings, and for coroutines on shared
//! stacks. Like all blocks they are never unmapped, so that a status may read them for ever.

use core::cell::{Cell, UnsafeCell};
use core::panic::Location;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use std::sync::Mutex;

use super::create::no_body;
use super::{Control, Kind, Unwinding, bits};
use crate::name::Name;
use crate::sanitizer;
use crate::switch::Context;
use crate::word::Word;

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
            unwinding: Cell::new(Unwinding::NONE),
            kind: Cell::new(Kind::Asymmetric),
            pins: Cell::new(0),
            main: Cell::new(never),
            span: Cell::new(0),
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
