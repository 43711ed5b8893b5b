//! An idle system uses no CPU. Alone in its process, whose CPU time it reads.
#![cfg(target_os = "linux")]

use std::time::Duration;

use leno_kernel::System;
use leno_kernel::io::{Descriptor, Interest};

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

#[cfg_attr(miri, ignore = "reads /proc")]
#[test]
fn an_idle_system_that_watches_sockets_uses_no_cpu() {
    let system = System::new(2).unwrap();
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    let waits = system.spawn(move || {
        // What is writable all the time is told once.
        let near = Descriptor::new(near).unwrap();
        near.wait(Interest::WRITE).unwrap();
        near.wait(Interest::READ).unwrap().is_read_end()
    });
    std::thread::sleep(Duration::from_millis(20));
    let before = cpu_time();
    std::thread::sleep(Duration::from_millis(200));
    let used = cpu_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?} of CPU in 200 ms of idling");
    drop(far);
    assert!(waits.join().unwrap());
}

/// CPU time of this process so far, by the kernel's tick of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
