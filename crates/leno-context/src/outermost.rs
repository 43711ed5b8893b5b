//! Where a thread's outermost frames return to: a way to tell that its main function is over.
//!
//! The C library calls a thread's function, and when that has returned, the destructors of its
//! thread-locals, from the same place and so with the return address in the same slot of the
//! stack. [`Outermost`] remembers the slots and contents of a few return addresses next to the
//! stack's end. When one of them holds something else, another function has been called there.
//! Sanitizers object to reading frames like that, so there nothing is known.

#[cfg(all(target_env = "gnu", not(any(leno_baton, leno_asan, leno_tsan))))]
pub(crate) use stack::Outermost;

#[cfg(not(all(target_env = "gnu", not(any(leno_baton, leno_asan, leno_tsan)))))]
pub(crate) use unknown::Outermost;

#[cfg(all(target_env = "gnu", not(any(leno_baton, leno_asan, leno_tsan))))]
mod stack {
    const FRAMES: usize = 256;
    /// As many return addresses are remembered.
    const KEPT: usize = 4;

    /// Slots of return addresses and what was in them.
    #[derive(Debug, Default)]
    pub(crate) struct Outermost([Option<(usize, usize)>; KEPT]);

    impl Outermost {
        /// What the outermost frames of the calling thread are now; nothing if they are too far, or if the calling code
        /// is on another stack than the thread's own, leno's or anybody's.
        pub(crate) fn now() -> Outermost {
            let mut frames = [core::ptr::null_mut(); FRAMES];
            // SAFETY: room for that many.
            let found = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as i32) } as usize;
            let here = crate::switch::stack_pointer();
            let range = crate::overflow::thread_range();
            let (Some((low, high)), true) = (range, found < FRAMES) else { return Self::default() };
            if !(low..high).contains(&here) {
                return Self::default();
            }
            let mut kept = [None; KEPT];
            let mut slot = high;
            for (place, frame) in kept.iter_mut().zip(frames[..found].iter().rev()) {
                let Some(address) = find(frame.addr(), here, slot) else { continue };
                slot = address;
                *place = Some((address, frame.addr()));
            }
            Outermost(kept)
        }

        /// Whether one of those frames is another one by now.
        pub(crate) fn has_changed(&self) -> bool {
            // SAFETY: slots of this thread's own stack.
            self.0.iter().flatten().any(|&(slot, before)| unsafe { read(slot) } != before)
        }
    }

    /// The highest slot below `high` that holds `value`.
    fn find(value: usize, low: usize, high: usize) -> Option<usize> {
        const WORD: usize = size_of::<usize>();
        let first = high / WORD * WORD - WORD;
        // SAFETY: words of this thread's own stack, in use.
        (low..=first)
            .rev()
            .step_by(WORD)
            .find(|&slot| slot % WORD == 0 && unsafe { read(slot) } == value)
    }

    /// # Safety
    /// `slot` is the address of a word of this thread's stack, between its stack pointer and end.
    unsafe fn read(slot: usize) -> usize {
        let slot = core::ptr::with_exposed_provenance::<usize>(slot);
        // SAFETY: by the contract.
        unsafe { slot.read_volatile() }
    }
}

#[cfg(not(all(target_env = "gnu", not(any(leno_baton, leno_asan, leno_tsan)))))]
mod unknown {
    /// Nothing is known about this stack.
    #[derive(Debug)]
    pub(crate) struct Outermost;

    impl Outermost {
        pub(crate) fn now() -> Outermost {
            Outermost
        }

        pub(crate) fn has_changed(&self) -> bool {
            false
        }
    }
}
