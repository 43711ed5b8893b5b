//! A core that waits for a file, a child and a signal uses no CPU. Alone in its process, whose CPU time
//! it reads.

use std::io::{Read, Write};
use std::time::Duration;

use leno_io::fs::File;
use leno_io::process::{Command, Stdio};
use leno_io::signal::{Signal, Signals};
use leno_kernel::System;

#[test]
fn a_core_that_waits_for_files_children_and_signals_uses_no_cpu() {
    let system = System::new(1).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut file = File::from_std(std::os::fd::OwnedFd::from(reader).into());
    let reads = system.spawn(move || file.read(&mut [0; 8]).unwrap());
    let mut command = Command::new("cat");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let waits = system.spawn(move || child.wait().unwrap().success());
    let hears = system.spawn(|| Signals::new(&[Signal::User1]).unwrap().recv());
    std::thread::sleep(Duration::from_millis(50));
    let before = cpu_time();
    std::thread::sleep(Duration::from_millis(200));
    let used = cpu_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?} of CPU in 200 ms of idling");
    writer.write_all(b"x").unwrap();
    drop(stdin);
    hears.cancel();
    assert!(reads.join().unwrap() == 1 && waits.join().unwrap() && hears.join().is_err());
}

/// CPU time of this process so far, by the system's tick of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
