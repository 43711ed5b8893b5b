//! Telling the sanitizers about stack switches.
//!
//! AddressSanitizer keeps one fake stack and the bounds of the current stack per thread, and
//! ThreadSanitizer one shadow call stack; both must be told when the stack changes. Built only
//! with `--cfg leno_asan` or `--cfg leno_tsan` beside `-Zsanitizer=..`; otherwise everything here
//! is empty and [`Tool`] has no size.

use crate::switch::Context;

#[cfg(not(any(leno_asan, leno_tsan)))]
pub(crate) use off::*;

#[cfg(not(any(leno_asan, leno_tsan)))]
mod off {
    use super::Context;

    /// What a sanitizer needs to know about a context: nothing.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Tool;

    impl Tool {
        pub(crate) const EMPTY: Tool = Tool;
    }

    #[inline(always)]
    pub(crate) unsafe fn leave(_from: *mut Context, _to: *const Context) {}
    #[inline(always)]
    pub(crate) unsafe fn arrive(_at: *mut Context) {}
    #[inline(always)]
    pub(crate) unsafe fn leave_for_good(_to: *const Context) {}
    #[inline(always)]
    pub(crate) fn arrive_first() {}
    #[inline(always)]
    pub(crate) unsafe fn born(_context: *mut Context, _limit: *mut u8, _top: *mut u8) -> Tool {
        Tool
    }
    #[inline(always)]
    pub(crate) unsafe fn gone(_tool: Tool, _limit: *mut u8, _top: *mut u8) {}
}

#[cfg(leno_asan)]
pub(crate) use address::*;

#[cfg(leno_asan)]
mod address {
    use core::cell::Cell;
    use core::ffi::c_void;

    use super::Context;
    use crate::control::{self, Kind};
    use crate::{stack, switch};

    unsafe extern "C" {
        fn __sanitizer_start_switch_fiber(save: *mut *mut c_void, bottom: *const c_void, n: usize);
        fn __sanitizer_finish_switch_fiber(
            save: *mut c_void,
            old_bottom: *mut *const c_void,
            old_size: *mut usize,
        );
        fn __asan_unpoison_memory_region(address: *const c_void, size: usize);
        fn __lsan_register_root_region(address: *const c_void, size: usize);
        fn __lsan_unregister_root_region(address: *const c_void, size: usize);
    }

    /// The fake stack a context left behind and the bounds of its real one.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Tool {
        fake: *mut c_void,
        bottom: *const c_void,
        size: usize,
    }

    impl Tool {
        pub(crate) const EMPTY: Tool =
            Tool { fake: core::ptr::null_mut(), bottom: core::ptr::null(), size: 0 };
    }

    // Functions that use this variable are never inlined: after a switch the code may be on
    // another thread, and the compiler would use the address it has seen before.
    thread_local! {
        /// The context that was left last: whoever arrives learns its stack's bounds.
        static LEFT: Cell<*mut Context> = const { Cell::new(core::ptr::null_mut()) };
    }

    #[inline(never)]
    pub(crate) unsafe fn leave(from: *mut Context, to: *const Context) {
        uncover_home();
        LEFT.set(from);
        // SAFETY: valid by the contract of `transfer`.
        let target = unsafe { (*to).tool };
        // SAFETY: as above.
        let save = unsafe { &raw mut (*from).tool.fake };
        // SAFETY: the bounds are those of the stack that `to` is on.
        unsafe { __sanitizer_start_switch_fiber(save, target.bottom, target.size) };
    }

    #[inline(never)]
    pub(crate) unsafe fn leave_for_good(to: *const Context) {
        uncover_home();
        LEFT.set(core::ptr::null_mut());
        // SAFETY: valid by the contract of `jump`.
        let target = unsafe { (*to).tool };
        // A result that is still to be read may be in the frame that ends here. Frames of functions
        // with inline assembly, such as the switch, are on the real stack, never on the fake one.
        // SAFETY: a null save pointer destroys the fake stack of the context that ends.
        unsafe {
            __sanitizer_start_switch_fiber(core::ptr::null_mut(), target.bottom, target.size);
        };
    }

    /// Frames on a home are copied as they are, red zones included, which a checked copy would
    /// report. So nothing on a home that is being left is poisoned.
    fn uncover_home() {
        let here = switch::stack_pointer();
        let Some(block) = control::block_at(here) else { return };
        // SAFETY: the block of a stack that is in use.
        if unsafe { block.as_ref() }.kind() == Kind::Home {
            let size = block.addr().get() - here;
            // SAFETY: only forgets what was forbidden.
            unsafe { __asan_unpoison_memory_region(core::ptr::without_provenance(here), size) };
        }
    }

    #[inline(never)]
    fn finish(fake: *mut c_void) {
        let (mut bottom, mut size) = (core::ptr::null(), 0);
        // SAFETY: called once after each switch, on the stack switched to.
        unsafe { __sanitizer_finish_switch_fiber(fake, &mut bottom, &mut size) };
        let left = LEFT.get();
        if left.is_null() {
            return;
        }
        // SAFETY: the context just left stays valid until it is continued.
        let tool = unsafe { &mut (*left).tool };
        tool.bottom = bottom;
        tool.size = size;
    }

    pub(crate) unsafe fn arrive(at: *mut Context) {
        // SAFETY: valid by the contract of `transfer`.
        finish(unsafe { (*at).tool.fake });
    }

    pub(crate) fn arrive_first() {
        finish(core::ptr::null_mut());
    }

    pub(crate) unsafe fn born(context: *mut Context, limit: *mut u8, top: *mut u8) -> Tool {
        let size = top.addr() - limit.addr();
        let tool = Tool { bottom: limit.cast(), size, ..Tool::EMPTY };
        // SAFETY: valid by the contract.
        unsafe { (*context).tool = tool };
        // On a home, whose frames are someone else's, the context is not on the stack itself.
        if let Some((slab, slot, _)) = stack::locate(context.addr()) {
            // SAFETY: the stack is ours; frames of its former user may have left poison.
            unsafe { __asan_unpoison_memory_region(limit.cast(), size) };
            // What a coroutine owns that was forgotten or given up is not a leak.
            let whole = slab.top(slot).addr() - limit.addr();
            // SAFETY: readable memory, taken out of the list in `gone`.
            unsafe { __lsan_register_root_region(limit.cast(), whole) };
        }
        tool
    }

    pub(crate) unsafe fn gone(tool: Tool, limit: *mut u8, top: *mut u8) {
        // Neither a home, which was not born, nor a coroutine on one.
        if tool.size == 0 || limit.is_null() {
            return;
        }
        let whole = top.addr() - limit.addr();
        // SAFETY: nobody runs on this stack any more.
        unsafe { __asan_unpoison_memory_region(limit.cast(), whole) };
        // SAFETY: entered by `born`.
        unsafe { __lsan_unregister_root_region(limit.cast(), whole) };
    }
}

#[cfg(leno_tsan)]
pub(crate) use thread::*;

#[cfg(leno_tsan)]
mod thread {
    use core::ffi::{c_uint, c_void};

    use super::Context;

    unsafe extern "C" {
        fn __tsan_get_current_fiber() -> *mut c_void;
        fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
        fn __tsan_destroy_fiber(fiber: *mut c_void);
        fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
    }

    /// The sanitizer's shadow of a context.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Tool {
        fibre: *mut c_void,
    }

    impl Tool {
        pub(crate) const EMPTY: Tool = Tool { fibre: core::ptr::null_mut() };
    }

    #[inline(always)]
    pub(crate) unsafe fn leave(from: *mut Context, to: *const Context) {
        // SAFETY: asks only.
        let fibre = unsafe { __tsan_get_current_fiber() };
        // SAFETY: valid by the contract of `transfer`.
        unsafe { (*from).tool.fibre = fibre };
        // SAFETY: as for `leave_for_good`.
        unsafe { leave_for_good(to) };
    }

    #[inline(always)]
    pub(crate) unsafe fn leave_for_good(to: *const Context) {
        // SAFETY: valid by the contract of `transfer`.
        let fibre = unsafe { (*to).tool.fibre };
        // SAFETY: the shadow of the context that is continued next.
        unsafe { __tsan_switch_to_fiber(fibre, 0) };
    }

    #[inline(always)]
    pub(crate) unsafe fn arrive(_at: *mut Context) {}
    #[inline(always)]
    pub(crate) fn arrive_first() {}

    pub(crate) unsafe fn born(context: *mut Context, _limit: *mut u8, _top: *mut u8) -> Tool {
        // SAFETY: destroyed again in `gone`.
        let fibre = unsafe { __tsan_create_fiber(0) };
        let tool = Tool { fibre };
        // SAFETY: valid by the contract.
        unsafe { (*context).tool = tool };
        tool
    }

    pub(crate) unsafe fn gone(tool: Tool, _limit: *mut u8, _top: *mut u8) {
        if !tool.fibre.is_null() {
            // SAFETY: made by `born`; its coroutine has ended.
            unsafe { __tsan_destroy_fiber(tool.fibre) };
        }
    }
}
