//! The switch on aarch64 (AAPCS64). The scheme is the one of `x86_64.rs`, with the four words of
//! [`super::four_words`]: x29, pc, sp, x19.
//!
//! A new coroutine starts in `leno_context_entry`, with the two words that it is given in x0 and x1. CFI
//! as on x86_64 with 0x8d = breg29 and x30 as the return-address column.

use core::arch::{asm, global_asm};

pub use super::four_words::Context;
pub(crate) use super::four_words::base_return_address;
use crate::control::Control;
use crate::word::Word;

/// Leaves the running context in `from` and continues `to`; see [`super::transfer`].
#[inline(always)]
pub(super) unsafe fn transfer(
    from: *mut Context,
    to: *const Context,
    word: Word,
    code: usize,
) -> (Word, usize) {
    let (arrived, arrived_code);
    // SAFETY: the caller guarantees two valid contexts; everything the target may change is
    // declared, x19, x29 and sp are saved and restored by hand.
    unsafe {
        asm!(
            "adr x9, 2f",
            "stp x29, x9, [x2]",
            "mov x10, sp",
            "stp x10, x19, [x2, #16]",
            "ldp x29, x9, [x3]",
            "ldp x10, x19, [x3, #16]",
            "mov sp, x10",
            "br x9",
            "2:",
            "hint #36", // bti j
            inlateout("x0") word => arrived,
            inlateout("x1") code => arrived_code,
            in("x2") from,
            in("x3") to,
            lateout("x20") _, lateout("x21") _, lateout("x22") _, lateout("x23") _,
            lateout("x24") _, lateout("x25") _, lateout("x26") _, lateout("x27") _,
            lateout("x28") _,
            lateout("v8") _, lateout("v9") _, lateout("v10") _, lateout("v11") _,
            lateout("v12") _, lateout("v13") _, lateout("v14") _, lateout("v15") _,
            lateout("lr") _,
            clobber_abi("C"),
        );
    }
    (arrived, arrived_code)
}

/// Continues `to` and never comes back; see [`super::jump`].
#[inline(always)]
pub(super) unsafe fn jump(to: *const Context, word: Word, code: usize) -> ! {
    // SAFETY: the caller guarantees a valid context and gives up the running one.
    unsafe {
        asm!(
            "ldp x29, x9, [x3]",
            "ldp x10, x19, [x3, #16]",
            "mov sp, x10",
            "br x9",
            in("x3") to,
            in("x0") word,
            in("x1") code,
            options(noreturn),
        )
    }
}

global_asm!(
    ".pushsection .text.leno_context_entry,\"ax\",%progbits",
    ".balign 16",
    ".globl leno_context_entry",
    ".type leno_context_entry,%function",
    "leno_context_entry:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_escape 0x0f, 6, 0x8d, 0x00, 0x06, 0x23, 0x10, 0x06",
    ".cfi_escape 0x10, 30, 5, 0x8d, 0x00, 0x06, 0x23, 0x08",
    ".cfi_escape 0x10, 29, 3, 0x8d, 0x00, 0x06",
    ".cfi_escape 0x10, 19, 5, 0x8d, 0x00, 0x06, 0x23, 0x18",
    "hint #36", // bti j
    "mov x2, x19",
    "adr x30, leno_context_entry_end",
    "ldr x9, [x19, #{main}]",
    "br x9",
    ".globl leno_context_entry_end",
    "leno_context_entry_end:",
    "brk #1",
    ".cfi_endproc",
    ".size leno_context_entry, . - leno_context_entry",
    ".popsection",
    main = const core::mem::offset_of!(Control, main),
);

/// The stack pointer of the caller.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// Returns how far the stack pointer of the caller is below `address`; wraps around if it is above.
#[inline(always)]
pub(crate) fn depth_below(address: usize) -> usize {
    address.wrapping_sub(stack_pointer())
}

/// Asks the CPU to load the cache line at `address` soon. Any address is fine.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    // SAFETY: a prefetch never faults and changes nothing the program can observe.
    unsafe {
        asm!("prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
    };
}

// The thread slot; see `x86_64.rs` for why it is defined in assembly.
global_asm!(
    ".pushsection .tbss.leno_context_thread,\"awT\",%nobits",
    ".balign 8",
    ".globl leno_context_thread",
    ".type leno_context_thread,%object",
    ".size leno_context_thread, 8",
    "leno_context_thread:",
    ".zero 8",
    ".popsection",
);

/// The address of this OS thread's slot.
#[inline(always)]
fn thread_slot_address() -> *mut *const () {
    let address;
    // SAFETY: computes the address of a thread-local that exists in every thread.
    unsafe {
        asm!(
            "mrs {base}, tpidr_el0",
            "adrp {offset}, :gottprel:leno_context_thread",
            "ldr {offset}, [{offset}, :gottprel_lo12:leno_context_thread]",
            "add {offset}, {offset}, {base}",
            base = out(reg) _,
            offset = out(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
    address
}

/// Reads this OS thread's slot.
#[inline(always)]
pub(crate) fn thread_slot() -> *const () {
    // SAFETY: the slot is this thread's own, zero until written.
    unsafe { thread_slot_address().read_volatile() }
}

/// Writes this OS thread's slot.
pub(crate) fn set_thread_slot(value: *const ()) {
    // SAFETY: the slot is this thread's own.
    unsafe { thread_slot_address().write_volatile(value) }
}
