//! Workloads of the kind that actor systems are compared by, on two cores and preempted every 50 units.
//! The benches measure the same ones.
#![forbid(unsafe_code)]

#[path = "support/workloads.rs"]
pub(crate) mod workloads;

use leno_kernel as kernel;
use leno_process as layer;
use leno_process::{Budget, System};

/// Runs the workload of this name.
fn run(name: &str) {
    let system = System::builder().cores(2).quantum(Budget::units(50)).build().unwrap();
    let (_, workload, size) =
        workloads::ALL.iter().find(|(own, ..)| *own == name).expect("there is one of this name");
    assert!(workload(system, *size) > 0);
}

#[test]
fn ping_pong() {
    run("ping-pong");
}

#[test]
fn thread_ring() {
    run("thread-ring");
}

#[test]
fn counting() {
    run("counting");
}

#[test]
fn fork_join() {
    run("fork-join");
}

#[test]
fn chameneos() {
    run("chameneos");
}

#[test]
fn philosophers() {
    run("philosophers");
}

#[test]
fn bounded_buffer() {
    run("bounded-buffer");
}

#[test]
fn sleeping_barber() {
    run("sleeping-barber");
}

#[test]
fn cigarette_smokers() {
    run("cigarette-smokers");
}

#[test]
fn banking_conserves_money() {
    run("banking");
}

#[test]
fn sieve() {
    run("sieve");
}

#[test]
fn fibonacci() {
    run("fibonacci");
}
