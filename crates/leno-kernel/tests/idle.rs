//! An idle system uses no CPU. Alone in its process, whose CPU time it reads.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::park_deaf;
use leno_kernel::{Reason, System, Waiter};

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

#[cfg_attr(miri, ignore = "reads /proc")]
#[test]
fn a_system_that_stops_uses_no_cpu_while_one_of_its_coroutines_cannot_exit() {
    let (tell, told) = std::sync::mpsc::channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let system = System::new(1).unwrap();
    let ended = system.spawn(move || {
        tell.send(Waiter::current()).unwrap();
        while !over.load(SeqCst) {
            park_deaf(Reason::Blocking);
        }
    });
    let waiter = told.recv().unwrap();
    assert!(system.shutdown(Duration::from_millis(20)).is_err());
    let before = cpu_time();
    std::thread::sleep(Duration::from_millis(200));
    let used = cpu_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?} of CPU in 200 ms of idling");
    is_over.store(true, SeqCst);
    waiter.wake();
    ended.join().unwrap();
}

/// CPU time of this process so far, by the kernel's tick of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
