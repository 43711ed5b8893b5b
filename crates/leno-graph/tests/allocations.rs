//! What a message costs in memory in a sequential deterministic graph: nothing.
// Checking tools have allocators of their own.
#![cfg(not(any(loom, leno_baton, leno_asan, leno_tsan)))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use leno_graph::Graph;

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

#[test]
fn p38_a_message_allocates_nothing_whatever_their_number() {
    for room in [1, 2, 16] {
        for count in [1, 100, 10_000] {
            assert_eq!(allocations(count, room), 0, "{count} messages, room for {room}");
        }
    }
}
