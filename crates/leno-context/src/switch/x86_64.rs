//! The switch on x86_64 (System V).
//!
//! A suspended context is the four words of [`super::four_words`]: rbp, rip, rsp, rbx. Nothing is pushed
//! on the stack it leaves.
//!
//! All other registers are declared clobbered: the compiler spills what is live and nothing else.
//! The last instruction is an indirect `jmp`, not a `ret`, because a `ret` into another stack
//! would mispredict every time; it jumps through a register loaded early, which on some CPUs
//! (Ice Lake) is a nanosecond faster than through memory. MXCSR and the x87 control word are not switched: that alone
//! would cost fifty switches.
//!
//! A new coroutine starts in `leno_context_entry`, with the two words that it is given in rdi and rsi.
//! The CFI there tells unwinders that the caller of the base frame is the context that `parent` points
//! to:
//!
//! ```text
//!   DW_CFA_def_cfa_expression (0x0f)  CFA = [[rbp] + 16]          parent->rsp
//!   DW_CFA_expression r16     (0x10)  rip at [rbp] + 8            &parent->rip
//!   DW_CFA_expression r6      (0x10)  rbp at [rbp]                &parent->rbp
//!   DW_CFA_expression r3      (0x10)  rbx at [rbp] + 24           &parent->rbx
//!   opcodes: 0x76 breg6, 0x06 deref, 0x23 plus_uconst
//! ```
//!
//! `.cfi_signal_frame` lets gdb accept that the stack address jumps.

use core::arch::{asm, global_asm};

pub use super::four_words::Context;
pub(crate) use super::four_words::base_return_address;
use crate::control::Control;
use crate::word::Word;

/// Leaves the running context at the address `$from` and continues the one at `$to`, both in terms of the registers
/// that `$operand` names, which are neither rax, rbx nor rbp.
///
/// The address that is saved is that of the code behind it, so it is inside this function, as unwinders want it.
macro_rules! transfer {
    ($from:literal, $to:literal, $word:ident, $code:ident, $($operand:tt)*) => {{
        let (arrived, arrived_code);
        asm!(
            "lea rax, [rip + 2f]",
            concat!("mov [", $from, "], rbp"),
            concat!("mov [", $from, " + 8], rax"),
            concat!("mov [", $from, " + 16], rsp"),
            concat!("mov [", $from, " + 24], rbx"),
            concat!("mov rax, [", $to, " + 8]"),
            concat!("mov rbp, [", $to, "]"),
            concat!("mov rsp, [", $to, " + 16]"),
            concat!("mov rbx, [", $to, " + 24]"),
            "jmp rax",
            ".balign 32",
            "2:",
            inlateout("rdi") $word => arrived,
            inlateout("rsi") $code => arrived_code,
            $($operand)*,
            lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
            clobber_abi("sysv64"),
        );
        (arrived, arrived_code)
    }};
}

/// Leaves the running context in `from` and continues `to`; see [`super::transfer`].
#[inline(always)]
pub(super) unsafe fn transfer(
    from: *mut Context,
    to: *const Context,
    word: Word,
    code: usize,
) -> (Word, usize) {
    // SAFETY: the caller guarantees two valid contexts; everything the target may change is
    // declared, rbx, rbp and rsp are saved and restored by hand.
    unsafe { transfer!("rcx", "rdx", word, code, in("rcx") from, in("rdx") to) }
}

/// The same between two contexts that are `FROM` and `TO` bytes behind `base`, with an instruction less.
#[inline(always)]
pub(super) unsafe fn transfer_within<const FROM: usize, const TO: usize>(
    base: *const Control,
    word: Word,
    code: usize,
) -> (Word, usize) {
    // SAFETY: as in `transfer`.
    unsafe {
        transfer!("rdx + {from}", "rdx + {to}", word, code, from = const FROM, to = const TO, in("rdx") base)
    }
}

/// Continues `to` and never comes back; see [`super::jump`].
#[inline(always)]
pub(super) unsafe fn jump(to: *const Context, word: Word, code: usize) -> ! {
    // SAFETY: the caller guarantees a valid context and gives up the running one.
    unsafe {
        asm!(
            "mov rbp, [rdx]",
            "mov rsp, [rdx + 16]",
            "mov rbx, [rdx + 24]",
            "jmp [rdx + 8]",
            in("rdx") to,
            in("rdi") word,
            in("rsi") code,
            options(noreturn),
        )
    }
}

global_asm!(
    ".pushsection .text.leno_context_entry,\"ax\",@progbits",
    ".balign 16",
    ".globl leno_context_entry",
    ".type leno_context_entry,@function",
    "leno_context_entry:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_escape 0x0f, 6, 0x76, 0x00, 0x06, 0x23, 0x10, 0x06",
    ".cfi_escape 0x10, 16, 5, 0x76, 0x00, 0x06, 0x23, 0x08",
    ".cfi_escape 0x10, 6, 3, 0x76, 0x00, 0x06",
    ".cfi_escape 0x10, 3, 5, 0x76, 0x00, 0x06, 0x23, 0x18",
    "mov rdx, rbx",
    // A return address without a call: the CPU's return predictor stays aligned.
    "lea rax, [rip + leno_context_entry_end]",
    "push rax",
    "jmp [rbx + {main}]",
    ".globl leno_context_entry_end",
    "leno_context_entry_end:",
    "ud2",
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
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// Returns how far the stack pointer of the caller is below `address`; wraps around if it is above.
#[inline(always)]
pub(crate) fn depth_below(address: usize) -> usize {
    let depth;
    // SAFETY: reads a register.
    unsafe { asm!("sub {}, rsp", inout(reg) address => depth, options(nomem, nostack)) };
    depth
}

/// Asks the CPU to load the cache line at `address` soon. Any address is fine.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    // SAFETY: a prefetch never faults and changes nothing the program can observe.
    unsafe {
        asm!("prefetcht0 [{}]", in(reg) address, options(readonly, nostack, preserves_flags))
    };
}

// The thread slot: one pointer per OS thread, defined here because the compiler may keep the
// address of a `thread_local!` across a switch, and a migrated coroutine would then work on its
// old thread's variable. An `asm!` without `pure` is executed anew each time. Initial-exec model:
// two loads, one after linking into an executable; fine in shared objects too.
global_asm!(
    ".pushsection .tbss.leno_context_thread,\"awT\",@nobits",
    ".balign 8",
    ".globl leno_context_thread",
    ".type leno_context_thread,@object",
    ".size leno_context_thread, 8",
    "leno_context_thread:",
    ".zero 8",
    ".popsection",
);

/// Reads this OS thread's slot.
#[inline(always)]
pub(crate) fn thread_slot() -> *const () {
    let value;
    // SAFETY: the slot exists in every thread, zero until written.
    unsafe {
        asm!(
            "mov {value}, qword ptr [rip + leno_context_thread@gottpoff]",
            "mov {value}, qword ptr fs:[{value}]",
            value = out(reg) value,
            options(nostack, preserves_flags, readonly),
        );
    }
    value
}

/// Writes this OS thread's slot.
pub(crate) fn set_thread_slot(value: *const ()) {
    // SAFETY: the slot exists in every thread and only this module touches it.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + leno_context_thread@gottpoff]",
            "mov qword ptr fs:[{offset}], {value}",
            offset = out(reg) _,
            value = in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}
