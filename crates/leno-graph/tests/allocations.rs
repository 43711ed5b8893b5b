//! What graphs cost in memory: a message in a sequential deterministic or a parallel one nothing, and one that is gone
//! nothing either.
// Checking tools have allocators of their own.
#![cfg(not(any(loom, leno_baton, leno_asan, leno_tsan)))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

use leno_graph::Graph;

/// The system's allocator, which counts.
struct Counting;

/// Bytes that are allocated, by all threads, that of the test harness included.
static LIVE: AtomicIsize = AtomicIsize::new(0);
/// How often any thread has allocated.
static ALL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// Bytes that this thread has allocated, less those that it has freed.
    static OWN: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        ALL.fetch_add(1, Relaxed);
        LIVE.fetch_add(layout.size() as isize, Relaxed);
        OWN.set(OWN.get() + layout.size() as isize);
        // SAFETY: forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Relaxed);
        OWN.set(OWN.get() - layout.size() as isize);
        // SAFETY: forwarded.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often something is allocated while `count` messages go through a graph of two nodes that joins and
/// maps, once it has begun.
fn allocations(count: usize, room: usize) -> usize {
    let mut graph = Graph::deterministic().sequential();
    let (tx, left) = graph.channel(room);
    graph.node("left", tx, |cx, tx| (0_u64..).take_while(|i| tx.send(cx, *i)).for_each(drop));
    let (tx, right) = graph.channel(room);
    graph.stackless("right", tx, |cx, tx| async move { while tx.send_async(&cx, 1_u64).await {} });
    let pairs = graph.join((left, right));
    let (tx, sums) = graph.channel(room);
    graph.node("sums", (pairs, tx), |cx, (pairs, tx)| {
        pairs.iter(cx).take_while(|(a, b)| tx.send(cx, a + b)).for_each(drop);
    });
    let run = graph.build().unwrap();
    let sums = run.outlet(sums);
    assert_eq!(sums.receive(), Some(1));
    let before = COUNT.get();
    (0..count as u64).for_each(|i| assert_eq!(sums.receive(), Some(i + 2)));
    COUNT.get() - before
}

/// How often anything is allocated while `count` messages go through a parallel graph of three nodes that joins and
/// maps, once it has begun.
macro_rules! in_parallel {
    ($graph:expr, $room:expr, $count:expr) => {{
        let mut graph = $graph;
        let (tx, left) = graph.channel($room);
        graph.node("left", tx, |cx, tx| (0_u64..).take_while(|i| tx.send(cx, *i)).for_each(drop));
        let (tx, right) = graph.channel($room);
        graph.stackless(
            "right",
            tx,
            |cx, tx| async move { while tx.send_async(&cx, 1_u64).await {} },
        );
        let pairs = graph.join((left, right));
        let (tx, sums) = graph.channel($room);
        graph.stackless("sums", (pairs, tx), |cx, (pairs, tx)| async move {
            while let Some((a, b)) = pairs.receive_async(&cx).await {
                tx.send_async(&cx, a + b).await;
            }
        });
        let run = graph.build().unwrap();
        let sums = run.outlet(sums);
        (0..1_000).for_each(|i| assert_eq!(sums.receive(), Some(i + 1)));
        let before = ALL.load(Relaxed);
        (0..$count).for_each(|i| assert_eq!(sums.receive(), Some(i + 1_001)));
        ALL.load(Relaxed) - before
    }};
}

/// How much `times` calls leave behind, when a few have been made before, by a count of bytes.
fn left_behind(times: isize, live: fn() -> isize, mut call: impl FnMut()) -> isize {
    (0..5).for_each(|_| call());
    let before = live();
    (0..times).for_each(|_| call());
    live() - before
}

macro_rules! squares {
    ($mode:expr) => {{
        let mut graph = $mode;
        let (tx, rx) = graph.channel(2);
        graph.node("numbers", tx, |cx, tx| (0..10).for_each(|i| _ = tx.send(cx, i)));
        let (tx, squares) = graph.channel(2);
        graph.stackless("square", (rx, tx), |cx, (rx, tx)| async move {
            while let Some(i) = rx.receive_async(&cx).await {
                tx.send_async(&cx, i * i).await;
            }
        });
        let run = graph.build().unwrap();
        // Not all: nodes are ended while they wait.
        assert_eq!(run.outlet(squares).take(5).sum::<i32>(), 30);
    }};
}

// One test: what is allocated is counted for all threads.
#[test]
fn p38_a_message_allocates_nothing_whatever_their_number() {
    // These run on the calling thread.
    let own = || OWN.get();
    assert_eq!(left_behind(20, own, || squares!(Graph::deterministic().sequential())), 0);
    assert_eq!(left_behind(20, own, || squares!(Graph::nondeterministic().sequential())), 0);
    // Threads that end keep some for a while.
    let all = || LIVE.load(Relaxed);
    let left = left_behind(100, all, || squares!(Graph::deterministic().parallel(1)));
    assert!(left < 100 * 64, "100 graphs leave {left} bytes");
    for room in [1, 2, 16] {
        for count in [1, 100, 10_000] {
            assert_eq!(allocations(count, room), 0, "{count} messages, room for {room}");
        }
        let count = in_parallel!(Graph::deterministic().parallel(1), room, 1_000);
        assert_eq!(count, 0, "deterministic, in parallel, room for {room}");
        let count = in_parallel!(Graph::nondeterministic().parallel(1), room, 1_000);
        assert_eq!(count, 0, "in parallel, room for {room}");
    }
}
