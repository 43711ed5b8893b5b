//! Input of the outside that is meant to take too much: texts, numbers, operations of the system.

use std::future::Future;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use leno::explore::{Explorer, thread};
use leno::fibre::control::ControlType;
use leno::flexible::{AsyncMe, Threadless};
use leno::io::fs::File;
use leno::io::net::UdpSocket;
use leno::kernel::{Budget, LocalSystem, System};
use leno::process::Bound;

use crate::area::Act;
use crate::bomb;
use crate::canary::violation;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("udp", udp),
    ("file", file),
    ("threadless_answers", answers),
    ("bound", bound),
    ("control_type", control_type),
    ("explore", explore),
];

/// A hostile waker that a core's reactor wakes.
fn udp(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    // miri has no sockets.
    if cfg!(miri) {
        return;
    }
    world::spend(10);
    let system = world::shared::<System>(x)
        .unwrap_or_else(|| world::share(x, System::new(1).expect("there are threads")));
    let address = system.spawn(move || {
        let socket: &'static UdpSocket = Box::leak(Box::new(UdpSocket::bind("127.0.0.1:0").ok()?));
        let into: &'static mut [u8] = Box::leak(vec![0; 16].into_boxed_slice());
        let mut future = Box::pin(socket.recv_from_async(into));
        let _ = future.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
        std::mem::forget(future);
        socket.local_addr().ok()
    });
    let Ok(Ok(Some(address))) = address.join_timeout(Duration::from_millis(50)) else { return };
    let Ok(socket) = std::net::UdpSocket::bind("127.0.0.1:0") else { return };
    let _ = socket.send_to(b"x", address);
    std::thread::sleep(Duration::from_millis(5));
}

/// A hostile waker that is woken while a read is handed to the system.
fn file(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    // miri has no io_uring.
    if cfg!(miri) {
        return;
    }
    world::spend(20);
    let system = LocalSystem::new();
    drop(system.spawn(move || {
        let (r1, mut w1) = std::io::pipe().expect("there are pipes");
        let (r2, mut w2) = std::io::pipe().expect("there are pipes");
        let f1 = File::from_std(std::fs::File::from(OwnedFd::from(r1)));
        let mut f2 = File::from_std(std::fs::File::from(OwnedFd::from(r2)));
        let mut into = [0; 8];
        let mut first = Box::pin(f1.read_async(&mut into));
        let _ = first.as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
        w1.write_all(b"x").expect("there is room");
        let write = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            let _ = w2.write_all(&[b'!'; 4000]);
        });
        let read = world::quietly(|| {
            let mut victim = vec![0; 4000];
            std::io::Read::read(&mut f2, &mut victim).is_ok()
        });
        // The memory is another's now.
        let others: Vec<Vec<u8>> = (0..4).map(|_| vec![b'.'; 4000]).collect();
        let _ = write.join();
        std::thread::sleep(Duration::from_millis(if read.is_none() { 10 } else { 0 }));
        if others.iter().flatten().any(|byte| *byte != b'.') {
            violation("the system has written into a vector that it was not given");
        }
    }));
    let _ = world::quietly(|| system.run().map(drop).is_ok());
}

/// Whoever waits for an answer gets it, whatever another caller's waker does.
fn answers(_: &Cx<'_>, _: u8, _: u8, z: u8) {
    world::spend(40);
    let system = Arc::new(Threadless::new());
    let (tx, rx) = leno::channel::shared::channel::<u32>();
    let gate = system.create("gate", move |mut me: AsyncMe<u32, u32>| async move {
        while let Ok(n) = rx.recv_async().await {
            let _ = me.parameter();
            me.detach(n).await;
        }
    });
    let mut call = Box::pin(gate.call_async(1));
    let waker = bomb::waker(z);
    let _ = call.as_mut().poll(&mut Context::from_waker(&waker));
    let other = gate.clone();
    let waits = std::thread::spawn(move || other.call_wait(2).is_ok());
    let sends = std::thread::spawn(move || {
        // Until nobody receives any more.
        let sends = |n| world::quietly(|| tx.send_timeout(n, Duration::from_millis(50)).is_ok());
        (0..8).all(|n| sends(n) != Some(false))
    });
    if sends.join().is_err() || waits.join().is_err() {
        violation("a thread that sends or calls has panicked");
    }
}

fn bound(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    world::spend(5);
    let Ok(mut bound) = Bound::spawn("hostile", || 1) else { return };
    let time = if y % 2 == 0 { Duration::MAX } else { Duration::from_millis(1) };
    if world::quietly(|| drop(bound.attach(Budget::time(time)))).is_none() {
        violation("an attach with a long budget panics");
    }
}

fn control_type(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    world::spend(40);
    // The largest take seconds in debug builds.
    let (n, m) = match y % 16 {
        0 => (usize::from(x % 16), usize::from(y)),
        _ => (usize::from(x % 8), usize::from(y % 32)),
    };
    let text = format!("((R|W)*R{})|({})*", "(R|W)".repeat(n), "R?W?".repeat(m));
    let _ = text.parse::<ControlType>().map(|made| made.automaton().states().len());
}

/// A program that catches everything, explored.
///
/// Not while the thread unwinds: an exit that was caught there is taken for not over, so nobody can end the program.
fn explore(_: &Cx<'_>, _: u8, y: u8, _: u8) {
    if std::thread::panicking() {
        return;
    }
    world::spend(40);
    // What is explored on a thread that unwinds cannot be unwound itself.
    if std::thread::panicking() {
        return;
    }
    let explorer = Explorer::new().random(u64::from(y)).runs(1).most_operations(50).shrinks(1);
    let _ = explorer
        .run(|| {
            let supervisor = thread::spawn("supervisor", || {
                loop {
                    let _ = std::panic::catch_unwind(|| {
                        loop {
                            thread::yield_now();
                        }
                    });
                }
            });
            let _ = supervisor.join();
        })
        .is_ok();
}
