//! Facts of the machine a report was made on: without them its figures cannot be compared.

use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::versions;

/// What a report says about where and when it was made.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory_kib: u64,
    pub kernel: String,
    /// `vm.max_map_count`: the limit stacks with a mapping of their own run into.
    pub max_maps: u64,
    pub rustc: String,
    /// The share of all processors' time that others took while this process slept, just before it began.
    pub busy: f64,
    /// UTC, ISO 8601.
    pub date: String,
}

impl Machine {
    pub fn this() -> Self {
        Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".into()),
            cores: thread::available_parallelism().map_or(1, |n| n.get()),
            memory_kib: kib("/proc/meminfo", "MemTotal").unwrap_or(0),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            max_maps: read("/proc/sys/vm/max_map_count").trim().parse().unwrap_or(0),
            rustc: versions::rustc().to_owned(),
            busy: busy_elsewhere(Duration::from_millis(300)),
            date: iso(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())),
        }
    }

    /// One line for the head of a report.
    pub fn line(&self) -> String {
        let Self { cpu, cores, kernel, rustc, date, .. } = self;
        let gib = self.memory_kib as f64 / 1024.0 / 1024.0;
        format!("{cpu}, {cores} cores, {gib:.1} GiB; Linux {kernel}; {rustc}; {date}")
    }

    /// What whoever reads the figures has to know first, if others used the machine too.
    pub fn warning(&self) -> Option<String> {
        let percent = (self.busy * 100.0).round();
        let others =
            || format!("other programs took {percent} % of the processors when this began");
        (self.busy >= 0.1).then(|| others() + ": measure again when they are done")
    }
}

/// The share of the processors' time that is taken while this process sleeps; 0 where the system does not tell.
fn busy_elsewhere(while_asleep: Duration) -> f64 {
    let before = ticks(&read("/proc/stat"));
    thread::sleep(while_asleep);
    match (before, ticks(&read("/proc/stat"))) {
        (Some(before), Some(after)) if after.all > before.all => {
            (after.taken - before.taken) as f64 / (after.all - before.all) as f64
        }
        _ => 0.0,
    }
}

/// Clock ticks of all processors since the system started.
#[derive(Debug, PartialEq)]
struct Ticks {
    taken: u64,
    all: u64,
}

/// The first line of `/proc/stat`: user, nice, system, idle, waiting for input or output, interrupts of two kinds,
/// and what other machines on the same hardware took.
fn ticks(stat: &str) -> Option<Ticks> {
    let mut words = stat.lines().next()?.split_whitespace();
    let of_all = words.next()? == "cpu";
    let counts: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let all = counts.iter().sum();
    (of_all && counts.len() == 8).then(|| Ticks { taken: all - counts[3] - counts[4], all })
}

/// Bytes this process holds in memory: resident pages and the page tables that map them.
pub fn resident_bytes() -> u64 {
    resident_bytes_of(std::process::id())
}

/// The same of another process.
pub fn resident_bytes_of(process: u32) -> u64 {
    let path = format!("/proc/{process}/status");
    let of = |key| kib(&path, key).unwrap_or(0) * 1024;
    of("VmRSS") + of("VmPTE")
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first `key : value` line of a file of such lines.
fn field(path: &str, key: &str) -> Option<String> {
    read(path).lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

fn kib(path: &str, key: &str) -> Option<u64> {
    field(path, key)?.split_whitespace().next()?.parse().ok()
}

/// Seconds since 1970 as a date and time of the Gregorian calendar, UTC.
fn iso(seconds: u64) -> String {
    // Days are counted from 1 March of year 0, so that the leap day is the last of its year.
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::{Ticks, iso, resident_bytes, ticks};

    #[test]
    fn what_is_not_idle_is_taken() {
        let stat = "cpu  10 1 5 100 20 2 3 4 0 0\ncpu0 5 0 2 50 10 1 1 2 0 0\n";
        assert_eq!(ticks(stat), Some(Ticks { taken: 25, all: 145 }));
        assert_eq!(ticks("cpu0 1 2 3 4 5 6 7 8"), None);
        assert_eq!(ticks("cpu 1 2 3"), None);
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso(1_767_225_599), "2025-12-31T23:59:59Z");
    }

    #[test]
    fn memory_in_use_is_seen() {
        let before = resident_bytes();
        let filled = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(resident_bytes() >= before + (32 << 20));
        drop(filled);
    }
}
