//! What every processor's switch saves: four words, of which the first two are a frame record.
//!
//! ```text
//!   Context          offset   x86_64   aarch64
//!   +-----------+
//!   | frame     |  0          rbp      x29       \ a frame record: frame-pointer walkers go from
//!   | continues |  8          rip      pc        / a coroutine's base frame into whoever resumed it
//!   | stack     | 16          rsp      sp
//!   | kept      | 24          rbx      x19       what LLVM reserves and so cannot be declared
//!   +-----------+                                clobbered
//! ```
//!
//! A new coroutine starts in `leno_context_entry` with `kept` = its control block, `frame` = the address
//! of the block's `parent` field, and `stack` = the block, below which its stack grows down.

use core::ptr::NonNull;

use crate::control::Control;
use crate::sanitizer::Tool;

/// Where a suspended context continues.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    frame: usize,
    continues: usize,
    stack: usize,
    kept: usize,
    pub(crate) tool: Tool,
}

impl Context {
    /// A context nobody has left yet.
    #[inline(always)]
    pub const fn empty() -> Self {
        Context { frame: 0, continues: 0, stack: 0, kept: 0, tool: Tool::EMPTY }
    }

    /// The entry of a fresh coroutine on the stack below `top`, which is 16-aligned.
    #[inline(always)]
    pub(crate) fn fresh(control: NonNull<Control>, top: *mut u8) -> Context {
        Context {
            frame: control.addr().get() + core::mem::offset_of!(Control, parent),
            continues: (leno_context_entry as *const ()).addr(),
            stack: top.addr(),
            kept: control.as_ptr().expose_provenance(),
            tool: Tool::EMPTY,
        }
    }

    /// The same context, which is continued through one of the two only.
    #[inline(always)]
    pub(crate) fn duplicate(&self) -> Context {
        Context { ..*self }
    }

    /// The stack pointer of a suspended context.
    #[inline(always)]
    pub fn stack_pointer(&self) -> usize {
        self.stack
    }
}

/// The return address of the base frame: with `parent` before it, a frame record.
#[inline(always)]
pub(crate) fn base_return_address() -> usize {
    (&raw const leno_context_entry_end).addr()
}

// Defined by the processor's file.
unsafe extern "C" {
    fn leno_context_entry();
    static leno_context_entry_end: [u8; 0];
}
