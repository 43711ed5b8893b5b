//! What the machine says about memory and mappings.

use std::fs;

use leno::Guards;

/// A figure of this process from the kernel, in bytes; 0 where there is none.
pub(super) fn process_bytes(key: &str) -> usize {
    figure("/proc/self/status", key)
}

/// Bytes of memory that could be used now.
pub(super) fn available_bytes() -> usize {
    figure("/proc/meminfo", "MemAvailable")
}

/// The most coroutines that can have stacks at once, whatever memory there is.
///
/// A guard page made by `mprotect` splits a mapping, which takes two entries of the process's
/// `vm.max_map_count`; some are left to the rest of the process. Lightweight guards take none. The
/// baton backend has an OS thread for each coroutine.
pub(super) fn most_stacks(guards: Guards) -> usize {
    const SPARED: usize = 4096;
    match guards {
        Guards::Light => usize::MAX,
        Guards::Protected => (max_map_count().saturating_sub(SPARED) / 2).max(100),
        Guards::None => 1000,
    }
}

/// How many mappings a process may have.
pub(super) fn max_map_count() -> usize {
    let text = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    text.trim().parse().unwrap_or(65_530)
}

fn figure(file: &str, key: &str) -> usize {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    kibibytes.unwrap_or(0) * 1024
}
