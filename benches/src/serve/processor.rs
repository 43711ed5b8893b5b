//! Which processors a thread runs on, how much of it was used, and how many files may be open.

use std::time::Duration;

/// Keeps the calling thread on one processor, if there are several.
pub fn pin(processor: usize) {
    // SAFETY: all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the number is far below the size of a set.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the set is valid for the call. Refused, the thread runs anywhere, which is no harm.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// Lets the calling thread run on every processor again. What it starts, threads and programs, inherits that.
pub fn unpin() {
    // SAFETY: all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    for processor in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: the number is below the size of a set. Those that are not there are left out by the system.
        unsafe { libc::CPU_SET(processor, &mut set) };
    }
    // SAFETY: the set is valid for the call.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// How much processor time the process has used.
pub fn used_by_process() -> Duration {
    used(libc::RUSAGE_SELF)
}

/// How much the calling thread has.
pub fn used_by_thread() -> Duration {
    used(libc::RUSAGE_THREAD)
}

/// How much those programs have that were started here and have ended.
pub fn used_by_children() -> Duration {
    used(libc::RUSAGE_CHILDREN)
}

fn used(who: libc::c_int) -> Duration {
    // SAFETY: all zeroes is a valid one.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: valid for the call.
    unsafe { libc::getrusage(who, &mut usage) };
    let time = |time: libc::timeval| {
        Duration::new(time.tv_sec as u64, 0) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Lets the process open as many files as it may; says how many.
pub fn open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    // SAFETY: as above.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur
}
