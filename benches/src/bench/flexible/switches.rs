//! How often the threads of this process have given up their processor.

/// By waiting, so far, all threads together, also those that have ended.
pub fn voluntary() -> u64 {
    // SAFETY: all zeroes is a valid one.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: valid for the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_nvcsw as u64
}
