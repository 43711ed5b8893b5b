//! Guard pages: what makes an overflow fault instead of corrupting a neighbour.
//!
//! Lightweight guards (`MADV_GUARD_INSTALL`, Linux 6.13) do not split the mapping, so a million
//! of them cost no map entries. Whether they work is found out by effect, not by return code:
//! writing *from* a guarded page into a pipe must fail with `EFAULT`. Else pages are protected by
//! `mprotect`, each of which splits the mapping in two; a process may have `vm.max_map_count`
//! mappings, so a budget is kept and running out of it is a clean error.

#[cfg(leno_baton)]
pub(super) use off::install;
#[cfg(not(leno_baton))]
pub(super) use system::install;

use std::sync::OnceLock;

/// How guards are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// `MADV_GUARD_INSTALL`: no map entry each.
    Light,
    /// `mprotect`: two map entries each.
    Protected,
    /// No guards: the baton backend, whose coroutines run on OS threads' stacks.
    None,
}

/// The kind of guard this system has; found out once.
pub fn kind() -> Guards {
    static KIND: OnceLock<Guards> = OnceLock::new();
    #[cfg(leno_baton)]
    let probe = || Guards::None;
    #[cfg(not(leno_baton))]
    let probe = system::probe;
    *KIND.get_or_init(probe)
}

#[cfg(leno_baton)]
mod off {
    use super::super::StackError;
    use super::Guards;

    pub(in super::super) fn install(_: Guards, _: *mut u8, _: usize) -> Result<(), StackError> {
        Ok(())
    }
}

#[cfg(not(leno_baton))]
mod system {
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::io;
    use std::sync::OnceLock;

    use super::super::{PAGE, StackError, slab};
    use super::Guards;

    const MADV_GUARD_INSTALL: i32 = 102;
    /// Mappings left to the rest of the process.
    const MAPS_SPARED: usize = 2048;

    static MAPS_USED: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn probe() -> Guards {
        // For tests and for trouble-shooting.
        if std::env::var_os("LENO_GUARDS").is_some_and(|kind| kind == "mprotect") {
            return Guards::Protected;
        }
        let Ok(page) = slab::map(PAGE) else { return Guards::Protected };
        // SAFETY: a page of our own.
        let installed = unsafe { libc::madvise(page.cast(), PAGE, MADV_GUARD_INSTALL) } == 0;
        let works = installed && write_from(page) == Some(libc::EFAULT);
        // SAFETY: mapped above and used by nobody else.
        unsafe { libc::munmap(page.cast(), PAGE) };
        if works { Guards::Light } else { Guards::Protected }
    }

    /// Writes one byte from `page` into a pipe; the error number if that fails.
    fn write_from(page: *mut u8) -> Option<i32> {
        let mut ends = [0; 2];
        // SAFETY: two file descriptors' room.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return None;
        }
        // SAFETY: the kernel checks the address; that it refuses it is the point.
        let written = unsafe { libc::write(ends[1], page.cast(), 1) };
        let error = io::Error::last_os_error().raw_os_error();
        for end in ends {
            // SAFETY: opened above.
            unsafe { libc::close(end) };
        }
        (written < 0).then_some(error).flatten()
    }

    /// Makes `bytes` at `address` a guard.
    pub(in super::super) fn install(
        kind: Guards,
        address: *mut u8,
        bytes: usize,
    ) -> Result<(), StackError> {
        match kind {
            Guards::None => Ok(()),
            Guards::Light => {
                // SAFETY: a slot of our own slab that nobody uses yet.
                let done = unsafe { libc::madvise(address.cast(), bytes, MADV_GUARD_INSTALL) } == 0;
                done.then_some(()).ok_or_else(|| out_of_memory(bytes))
            }
            Guards::Protected => {
                let limit = max_maps();
                if MAPS_USED.fetch_add(2, Relaxed) + MAPS_SPARED > limit {
                    MAPS_USED.fetch_sub(2, Relaxed);
                    return Err(StackError::OutOfMaps { limit });
                }
                // SAFETY: as above.
                let done = unsafe { libc::mprotect(address.cast(), bytes, libc::PROT_NONE) } == 0;
                if !done {
                    MAPS_USED.fetch_sub(2, Relaxed);
                }
                done.then_some(()).ok_or(StackError::OutOfMaps { limit })
            }
        }
    }

    fn out_of_memory(size: usize) -> StackError {
        StackError::OutOfMemory { size, why: io::Error::last_os_error().to_string() }
    }

    fn max_maps() -> usize {
        static MAX: OnceLock<usize> = OnceLock::new();
        *MAX.get_or_init(|| {
            let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
            text.trim().parse().unwrap_or(65_530)
        })
    }
}
