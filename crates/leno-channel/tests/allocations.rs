//! What waiting costs in memory: nothing, once lines and tickets were used before. Not in
//! `suite`: it has an allocator of its own.
// Checking tools have allocators of their own.
#![cfg(not(any(loom, leno_baton, leno_asan, leno_tsan)))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use leno_channel::{
    Flavour, Mutex, Receiver, Select, Semaphore, Sender, WaitGroup, bounded, channel, select,
    shared,
};
use leno_kernel::{LocalSystem, spawn_local, yield_now};
use std::time::Duration;

/// The system's allocator, which counts.
struct Counting;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: forwarded.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LONG: Duration = Duration::from_secs(3_600);

/// How often `round` allocates: it, and whatever runs on this thread meanwhile. The first rounds fill
/// what is used again later.
fn allocations(mut round: impl FnMut()) -> usize {
    (0..8).for_each(|_| round());
    let before = COUNT.get();
    (0..100).for_each(|_| round());
    COUNT.get() - before
}

/// In a coroutine, with another one that answers every round.
fn in_a_coroutine(
    count: impl FnOnce(&dyn Fn()) -> usize + 'static,
    answer: impl Fn() + 'static,
) -> usize {
    let system = LocalSystem::new();
    let count = system.spawn(move || {
        let (ask, asked) = channel();
        drop(spawn_local(move || asked.iter().for_each(|()| answer())));
        yield_now();
        count(&|| ask.send(()).unwrap())
    });
    system.run().unwrap();
    count.join().unwrap()
}

fn parked_select<F: Flavour>((tx, rx): (Sender<u8, F>, Receiver<u8, F>)) -> usize {
    let count = move |ask: &dyn Fn()| {
        let never = [(); 6].map(|()| channel::<u8>());
        let (full, _from) = bounded::<u8>(0);
        allocations(|| {
            ask();
            let select = Select::new().recv(&never[0].1, |_| 0).recv(&never[1].1, |_| 1);
            let select = select.recv(&never[2].1, |_| 2).recv(&never[3].1, |_| 3);
            let select = select.recv(&never[4].1, |_| 4).recv(&never[5].1, |_| 5);
            let select = select.send(&full, 1, |_| 6).recv(&rx, |value| value.unwrap());
            assert_eq!(select.wait(), Ok(7));
        })
    };
    in_a_coroutine(count, move || tx.send(7).unwrap())
}

#[test]
fn a_parked_select_over_eight_alternatives_allocates_nothing() {
    assert_eq!(parked_select(channel()), 0);
    assert_eq!(parked_select(shared::channel()), 0);
}

#[test]
fn neither_do_locks_times_and_the_macro() {
    let (tx, rx) = channel::<u8>();
    let count = move |ask: &dyn Fn()| {
        let (mutex, permits) = (Mutex::local(0), Semaphore::local(0));
        let (group, _held) = (WaitGroup::local(), mutex.lock().unwrap());
        let _worker = group.worker();
        allocations(|| {
            ask();
            let got = select! {
                recv(mutex) -> _ => 1,
                recv(permits) -> _ => 2,
                recv(group) -> _ => 3,
                recv(rx) -> value => value.unwrap(),
                after(LONG) => 5,
            };
            assert_eq!(got, Ok(4));
            assert_eq!(select! { recv(rx) -> _ => false, default => true }, Ok(true));
        })
    };
    assert_eq!(in_a_coroutine(count, move || tx.send(4).unwrap()), 0);
}

#[test]
fn nor_does_a_rendezvous_or_a_thread_that_selects() {
    let (tx, rx) = channel::<u8>();
    let count = move |ask: &dyn Fn()| {
        allocations(|| {
            ask();
            assert_eq!(rx.recv(), Ok(1));
        })
    };
    assert_eq!(in_a_coroutine(count, move || tx.send(1).unwrap()), 0);
    let ((ask, asked), (tx, rx)) = (shared::channel::<()>(), shared::channel::<u8>());
    // Of two that have met one may be back before the other has left its place: then it needs a second
    // one. Two waited for at once are the most that ever stand here.
    let places = Select::new().recv(&asked, drop).recv(&asked, drop);
    let places = places.recv(&rx, drop).recv(&rx, drop).after(Duration::from_millis(1), || ());
    assert_eq!(places.wait(), Ok(()));
    let thread = std::thread::spawn(move || asked.iter().for_each(|()| tx.send(1).unwrap()));
    let (_other, from) = shared::channel::<u8>();
    // What a thread needs once, when it first sleeps.
    let soon = leno_kernel::layer::deadline_in(std::time::Duration::from_millis(1));
    leno_kernel::park_until(leno_kernel::Reason::Passive, soon);
    let count = allocations(|| {
        ask.send(()).unwrap();
        assert_eq!(Select::new().recv(&from, |v| v).recv(&rx, |v| v).wait(), Ok(Ok(1)));
    });
    drop(ask);
    thread.join().unwrap();
    assert_eq!(count, 0);
}
