//! The handler, the injected call and the timers, on x86_64 Linux with glibc.
//!
//! The stack of a coroutine that was interrupted, from high addresses to low:
//!
//! ```text
//!   interrupted frames       <- rsp at the interruption, the CFA of the trampoline's frame
//!   128 bytes                the red zone, left alone
//!   rip                      written by the handler, which makes rsp point here
//!   rflags, rax .. r15       sixteen words, pushed by the trampoline; rbp points to the last one
//!   xsave area, 64-aligned   x87, SSE, AVX and AVX-512 in the compacted form
//!   frames of the hook
//! ```
//!
//! The CFI says so, so that a backtrace of a suspended coroutine shows where it was interrupted.
//! Registers of AMX are not saved: they would take 8 KiB, and a process has to ask for them.

use core::arch::{asm, global_asm};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use core::time::Duration;
use std::sync::Mutex;

use super::{Hook, Interrupts, SOON, Unsupported, bound, own_thread, sample};
use crate::control::{Control, block_of};
use crate::stack::{self, Stack};
use crate::thread::{self, Block};

/// Bytes of the xsave area: legacy region, header, AVX, opmask, upper halves, upper registers, and
/// what aligning them to 64 may take.
const AREA: usize = 512 + 64 + 256 + 64 + 512 + 1024 + 128;
/// x87, SSE, AVX, and the three parts of AVX-512.
const SAVED: u32 = 0b1110_0111;
/// Parts of a processor's state that need no saving: of MPX, which is gone, the protection keys, which
/// belong to the thread, and AMX; see the module.
const LEFT_ALONE: u64 = 0b11 << 3 | 1 << 9 | 0b11 << 17;
const RED_ZONE: usize = 128;
/// What the hook may need: registers and the frames of a policy.
const ROOM: usize = if cfg!(debug_assertions) { 14 * 1024 } else { 8 * 1024 };

static HOOK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static __executable_start: u8;
    static etext: u8;
    static leno_interrupt_begin: u8;
    static leno_interrupt_end: u8;
    fn leno_interrupt();
}

/// Makes interruptions possible in this process, by this hook if one is given.
///
/// # Errors
/// Where they are not.
pub(super) fn prepare(hook: Option<Hook>) -> Result<(), Unsupported> {
    static PREPARED: Mutex<Option<Result<(), Unsupported>>> = Mutex::new(None);
    let mut prepared = PREPARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let result = *prepared.get_or_insert_with(|| check_processor().and_then(|()| install()));
    if let (Ok(()), Some(hook)) = (result, hook) {
        HOOK.store(hook as usize, SeqCst);
    }
    result
}

fn check_processor() -> Result<(), Unsupported> {
    if !std::arch::is_x86_feature_detected!("xsavec") {
        return Err(Unsupported::Processor);
    }
    let (low, high): (u32, u32);
    // SAFETY: xsavec is there, so xgetbv is; it reads a register.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack))
    };
    let enabled = u64::from(high) << 32 | u64::from(low);
    let known = u64::from(SAVED) | LEFT_ALONE;
    if enabled & !known == 0 { Ok(()) } else { Err(Unsupported::Processor) }
}

fn install() -> Result<(), Unsupported> {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only, into room for the answer.
    unsafe { libc::sigaction(libc::SIGURG, core::ptr::null(), before.as_mut_ptr()) };
    // SAFETY: all zeroes is valid, and it was filled in.
    let before = unsafe { before.assume_init() }.sa_sigaction;
    if before != libc::SIG_DFL && before != libc::SIG_IGN {
        return Err(Unsupported::SignalTaken);
    }
    // SAFETY: all zeroes is a valid sigaction.
    let mut new = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    new.sa_sigaction = on_signal as *const () as usize;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: a handler of the right type that is async-signal-safe; see `on_signal`.
    match unsafe { libc::sigaction(libc::SIGURG, &new, core::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(Unsupported::Platform),
    }
}

fn is_text(address: usize) -> bool {
    let program = (&raw const __executable_start).addr()..(&raw const etext).addr();
    let trampoline =
        (&raw const leno_interrupt_begin).addr()..(&raw const leno_interrupt_end).addr();
    program.contains(&address) && !trampoline.contains(&address)
}

/// Async-signal-safe: it reads and writes words of its own thread and of statics, computes, calls
/// `gettid` and `timer_settime`, and waits by `futex` if its thread is bound; `errno` is as before.
/// `panicking` reads an atomic and a thread-local that needs no initialisation.
unsafe extern "C" fn on_signal(_: i32, _: *mut libc::siginfo_t, ucontext: *mut libc::c_void) {
    let Some(own) = own_thread() else { return };
    // SAFETY: gives the address of this thread's `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: that address is valid.
    let before = unsafe { *errno };
    // SAFETY: the kernel passes the interrupted context, which is the handler's alone.
    let registers = unsafe { &mut (*ucontext.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    interrupt(own, registers);
    // SAFETY: as above.
    unsafe { *errno = before };
}

fn interrupt(own: &Block, registers: &mut [libc::greg_t; 23]) {
    const RIP: usize = libc::REG_RIP as usize;
    const RSP: usize = libc::REG_RSP as usize;
    let (pc, sp) = (registers[RIP] as usize, registers[RSP] as usize);
    let interrupts = &own.interrupts;
    let on = stack::locate(sp).map(|(slab, slot, _)| Stack::of(slab, slot));
    let top = on.as_ref().map_or(sp, |stack| block_of(stack).addr());
    // SAFETY: from the stack pointer to its block a running stack can be read.
    unsafe { sample::answer(pc, sp, top, is_text) };
    // SAFETY: null, or the baton of this bound thread, which outlives it.
    if let Some(baton) = unsafe { interrupts.baton.load(Relaxed).as_ref() } {
        let is_free = interrupts.guarded.load(Relaxed) == 0 && is_text(pc);
        return bound::on_signal(baton, is_free);
    }
    if interrupts.is_armed.load(Relaxed) == 0 {
        return;
    }
    let within = interrupts.within.load(Relaxed);
    if within.is_null() {
        return interrupts.is_missed.store(1, Relaxed);
    }
    let is_own = on.as_ref().is_some_and(|stack| core::ptr::eq(block_of(stack), within));
    let has_room = on.is_some_and(|stack| sp - stack.limit().addr() >= RED_ZONE + 8 + ROOM);
    if !is_own
        || !has_room
        || interrupts.guarded.load(Relaxed) != 0
        || !is_text(pc)
        || std::thread::panicking()
        || HOOK.load(Relaxed) == 0
    {
        return set(interrupts, SOON);
    }
    interrupts.within.store(core::ptr::null_mut(), Relaxed);
    interrupts.interrupted.store(within, Relaxed);
    let below = sp - RED_ZONE - 8;
    // SAFETY: on the running stack, below everything that is used there, and there is room.
    unsafe { core::ptr::with_exposed_provenance_mut::<usize>(below).write(pc) };
    registers[RSP] = below as i64;
    registers[RIP] = leno_interrupt as *const () as i64;
}

global_asm!(
    ".pushsection .text.leno_interrupt,\"ax\",@progbits",
    ".balign 16",
    ".globl leno_interrupt_begin",
    "leno_interrupt_begin:",
    ".globl leno_interrupt",
    ".type leno_interrupt,@function",
    "leno_interrupt:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    "pushfq",
    "cld",
    "push rax",
    "push rcx",
    "push rdx",
    "push rbx",
    "push rbp",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov rbp, rsp",
    ".cfi_def_cfa rbp, 264",
    ".cfi_offset rip, -136",
    ".cfi_offset rax, -152",
    ".cfi_offset rcx, -160",
    ".cfi_offset rdx, -168",
    ".cfi_offset rbx, -176",
    ".cfi_offset rbp, -184",
    ".cfi_offset rsi, -192",
    ".cfi_offset rdi, -200",
    ".cfi_offset r8, -208",
    ".cfi_offset r9, -216",
    ".cfi_offset r10, -224",
    ".cfi_offset r11, -232",
    ".cfi_offset r12, -240",
    ".cfi_offset r13, -248",
    ".cfi_offset r14, -256",
    ".cfi_offset r15, -264",
    "sub rsp, {area}",
    "and rsp, -64",
    // The header, of which xsavec writes only a part.
    "xor eax, eax",
    "mov [rsp + 512], rax",
    "mov [rsp + 520], rax",
    "mov [rsp + 528], rax",
    "mov [rsp + 536], rax",
    "mov [rsp + 544], rax",
    "mov [rsp + 552], rax",
    "mov [rsp + 560], rax",
    "mov [rsp + 568], rax",
    "mov eax, {saved}",
    "xor edx, edx",
    "xsavec [rsp]",
    "call {hook}",
    "mov eax, {saved}",
    "xor edx, edx",
    "xrstor [rsp]",
    "mov rsp, rbp",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rbp",
    "pop rbx",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "popfq",
    // Back to the interrupted instruction, and over the red zone.
    "ret 128",
    ".cfi_endproc",
    ".size leno_interrupt, . - leno_interrupt",
    ".globl leno_interrupt_end",
    "leno_interrupt_end:",
    ".popsection",
    area = const AREA,
    saved = const SAVED,
    hook = sym call_hook,
);

/// Called by the trampoline.
extern "C" fn call_hook() {
    let own = &thread::block().interrupts;
    set_modes(own.modes.get());
    let modes = own.modes.get();
    let within = own.interrupted.swap(core::ptr::null_mut(), Relaxed);
    // SAFETY: gives the address of this thread's `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: that address is valid.
    let before = unsafe { *errno };
    // SAFETY: what `prepare` has stored; the handler has seen that there is one.
    let hook = unsafe { core::mem::transmute::<usize, Hook>(HOOK.load(Relaxed)) };
    hook();
    // SAFETY: the coroutine is on the thread where it was.
    unsafe { *errno = before };
    let own = &thread::block().interrupts;
    own.modes.set(modes);
    debug_assert!(NonNull::<Control>::new(within).is_some());
    own.within.store(within, SeqCst);
    // The hook has set the timer while nobody was within. If it has gone off by now, as it may when the thread was
    // kept from running, nobody else sets it again.
    if own.is_missed.swap(0, SeqCst) != 0 && own.is_armed.load(Relaxed) != 0 {
        set(own, SOON);
    }
}

/// How the calling thread computes with fractions.
pub(super) fn modes() -> (u32, u16) {
    let (mut mxcsr, mut control) = (0u32, 0u16);
    // SAFETY: writes two words that are there.
    unsafe {
        asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut control,
            options(nostack, preserves_flags));
    }
    (mxcsr, control)
}

/// Lets the thread compute so: the x87 stack is empty then, as between functions it must be.
fn set_modes((mxcsr, control): (u32, u16)) {
    // SAFETY: reads two words that are there; the interrupted code's registers are saved.
    unsafe {
        asm!("fninit", "fldcw [{}]", "ldmxcsr [{}]", in(reg) &raw const control,
            in(reg) &raw const mxcsr, options(nostack, readonly, preserves_flags));
    }
}

/// Has the calling thread interrupted after so long, once, if it is within then; see
/// [`super::enter`].
pub fn arm(after: Duration) {
    let own = &thread::block().interrupts;
    if own.timer.get().is_none() {
        own.timer.set(new_timer());
    }
    own.is_armed.store(1, SeqCst);
    set(own, after);
}

/// Has it not interrupted any more.
#[inline]
pub fn disarm() {
    let own = &thread::block().interrupts;
    if own.is_armed.load(Relaxed) != 0 {
        own.is_armed.store(0, SeqCst);
        set(own, Duration::ZERO);
    }
}

/// Sets the thread's timer; to zero is off. Async-signal-safe.
fn set(own: &Interrupts, after: Duration) {
    let Some(timer) = own.timer.get() else { return };
    let value = libc::timespec {
        tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(after.subsec_nanos()),
    };
    let off = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let times = libc::itimerspec { it_interval: off, it_value: value };
    // SAFETY: the thread's own timer, which lives until it ends.
    unsafe { libc::timer_settime(timer as libc::timer_t, 0, &times, core::ptr::null_mut()) };
}

/// A timer that sends the calling thread the signal. Without one, nothing is interrupted.
fn new_timer() -> Option<usize> {
    // SAFETY: all zeroes is a valid sigevent.
    let mut event = unsafe { MaybeUninit::<libc::sigevent>::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGURG;
    event.sigev_notify_thread_id = sample::thread_id();
    let mut timer = MaybeUninit::<libc::timer_t>::zeroed();
    // SAFETY: a valid event, and room for the answer.
    let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer.as_mut_ptr()) };
    // SAFETY: all zeroes is valid, and it was filled in.
    (made == 0).then(|| unsafe { timer.assume_init() } as usize)
}

pub(super) fn end(own: &Interrupts) {
    if let Some(timer) = own.timer.take() {
        // SAFETY: the thread's own timer, which nobody uses any more.
        unsafe { libc::timer_delete(timer as libc::timer_t) };
    }
}
