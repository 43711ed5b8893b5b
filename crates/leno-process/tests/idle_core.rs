//! A core that has no main uses no CPU, and wakes when it gets one. Alone in its process, whose CPU
//! time it reads.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use std::time::Duration;

use leno_process::Core;

#[test]
fn m26_a_core_without_a_main_sleeps_and_wakes_when_it_gets_one() {
    let cores: Vec<_> = ["a", "b"].map(|name| Core::fork(name).unwrap()).into();
    std::thread::sleep(Duration::from_millis(20));
    let before = cpu_time();
    std::thread::sleep(Duration::from_millis(200));
    let used = cpu_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?} of CPU in 200 ms without a main");
    for core in &cores {
        assert_eq!(core.attach(|| 1 + 1).join().unwrap(), 2);
    }
}

/// CPU time of this process so far, by the kernel's tick of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
