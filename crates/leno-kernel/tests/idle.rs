//! An idle system uses no CPU. Alone in its process, whose CPU time it reads.
#![cfg(target_os = "linux")]

use std::time::Duration;

use leno_kernel::System;

#[cfg_attr(miri, ignore = "reads /proc")]
#[test]
fn an_idle_system_uses_no_cpu() {
    let system = System::new(2).unwrap();
    system.spawn(|| ()).join().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let before = cpu_time();
    std::thread::sleep(Duration::from_millis(200));
    let used = cpu_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?} of CPU in 200 ms of idling");
    drop(system);
}

/// CPU time of this process so far, by the kernel's tick of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
