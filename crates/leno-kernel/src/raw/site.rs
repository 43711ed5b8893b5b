//! A place in the source, known to several threads.
//!
//! Claim: the address is null or that of a `&'static Location`, since only [`SiteCell::store`] writes
//! it; what is static never goes or changes.

use core::panic::Location;

use crate::sync::{AtomicPtr, Ordering::Relaxed};

/// See the module. It orders nothing else.
pub(crate) struct SiteCell(AtomicPtr<Location<'static>>);

impl SiteCell {
    pub(crate) fn new() -> SiteCell {
        SiteCell(AtomicPtr::new(core::ptr::null_mut()))
    }

    #[inline(always)]
    pub(crate) fn store(&self, site: &'static Location<'static>) {
        self.0.store(core::ptr::from_ref(site).cast_mut(), Relaxed);
    }

    pub(crate) fn load(&self) -> Option<&'static Location<'static>> {
        // SAFETY: null, or what was a static reference.
        unsafe { self.0.load(Relaxed).as_ref() }
    }
}
