//! What the machine says about memory.

use std::fs;

/// A figure of this process from the kernel, in bytes; 0 where there is none.
pub(super) fn process_bytes(key: &str) -> usize {
    figure("/proc/self/status", key)
}

/// Bytes of memory that could be used now.
pub(super) fn available_bytes() -> usize {
    figure("/proc/meminfo", "MemAvailable")
}

fn figure(file: &str, key: &str) -> usize {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    kibibytes.unwrap_or(0) * 1024
}
