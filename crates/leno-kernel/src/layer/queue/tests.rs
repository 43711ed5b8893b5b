//! Tests what a wait queue does, in any order of operations; also under miri.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::*;
use crate::bell::Bell;
use crate::{Co, Waiter};

type Numbers<L = Local> = WaitQueue<L, usize, Vec<u32>, 2>;

fn bell() -> Waiter {
    Waiter::Thread(Arc::new(Bell::new()))
}

/// What stands in a line.
fn seen<L: Lock>(queue: &Numbers<L>, line: usize) -> Vec<Vec<u32>> {
    queue.lock().iter(line).map(|one| one.payload.clone()).collect()
}

fn first<L: Lock>(queue: &Numbers<L>, line: usize) -> Key {
    queue.lock().first(line).expect("someone waits").key
}

#[test]
fn those_in_a_line_are_settled_in_any_order_once_each() {
    let queue = Numbers::<Local>::new(0);
    let nodes: Vec<_> = (0..4).map(|n| queue.lock().link_on_heap(1, bell(), vec![n])).collect();
    assert_eq!(seen(&queue, 1), [[0], [1], [2], [3]]);
    assert!(queue.lock().is_empty(0));
    for (n, left) in [(1, vec![0, 2, 3]), (3, vec![0, 2]), (0, vec![2]), (2, vec![])] {
        let mut guard = queue.lock();
        let key = nodes[n].handle().key();
        let hand = |payload: &mut Vec<u32>, value| payload.push(value);
        let settled = guard.settle(1, key, Stage::Met, 9, hand);
        assert!(matches!(settled, Ok(((), Some(Waiter::Thread(_))))));
        assert_eq!(guard.settle(1, key, Stage::Refused, 7, hand).err(), Some(7), "once");
        assert_eq!(guard.stage(nodes[n].handle()), Stage::Met);
        drop(guard);
        assert_eq!(seen(&queue, 1).concat(), left);
    }
    for (n, node) in (0..).zip(nodes) {
        let left = queue.lock().leave(node);
        assert_eq!((left.stage, left.payload), (Stage::Met, vec![n, 9]));
        assert!(left.waiter.is_none(), "taken by the one that settled it");
    }
}

/// Whatever wait this is, it ends at once.
fn give_up<L: Lock>(queue: &Numbers<L>, line: usize, payload: Vec<u32>) -> Left<Vec<u32>> {
    let (guard, left) =
        queue.lock().wait(line, bell(), payload, || First::Wait, || Next::Leave, |_, _| ());
    drop(guard);
    left
}

#[test]
fn a_wait_that_unwinds_leaves_its_line() {
    let queue = Numbers::<Shared>::new(0);
    let last = queue.lock().link_on_heap(0, bell(), vec![2]);
    let next = || {
        assert_eq!(seen(&queue, 0), [[2], [1]]);
        panic!("its wait unwinds")
    };
    let abandoned = Cell::new(None);
    let raised = catch_unwind(AssertUnwindSafe(|| {
        queue.lock().wait(
            0,
            bell(),
            vec![1],
            || First::Wait,
            next,
            |mut guard, left| {
                *guard += 1;
                abandoned.set(Some((left.stage, left.payload)));
            },
        )
    }));
    assert!(raised.is_err());
    assert_eq!(abandoned.take(), Some((Stage::Waiting, vec![1])));
    assert_eq!(*queue.lock(), 1);
    assert_eq!(seen(&queue, 0), [[2]]);
    // What lies where the node was is nobody's now.
    let key = first(&queue, 0);
    assert!(queue.lock().settle(0, key, Stage::Met, (), |_, ()| ()).is_ok());
    drop(last);
    assert!(queue.lock().is_empty(0));
}

#[test]
fn a_wait_that_unwinds_gives_back_what_it_was_handed() {
    let queue = Numbers::<Local>::new(0);
    let hand = |payload: &mut Vec<u32>, value| payload.push(value);
    let next = || {
        let key = first(&queue, 0);
        assert!(queue.lock().settle(0, key, Stage::Met, 5, hand).is_ok());
        panic!("its wait unwinds")
    };
    let abandoned = Cell::new(None);
    let raised = catch_unwind(AssertUnwindSafe(|| {
        queue.lock().wait(
            0,
            bell(),
            vec![],
            || First::Wait,
            next,
            |_, left| {
                abandoned.set(Some((left.stage, left.payload)));
            },
        )
    }));
    assert!(raised.is_err());
    assert_eq!(abandoned.take(), Some((Stage::Met, vec![5])));
}

#[test]
fn one_that_waits_is_handed_what_its_partner_finds() {
    let queue = Numbers::<Local>::new(0);
    let hand = |payload: &mut Vec<u32>, value| *payload = value;
    let next = || {
        let settled = queue.lock().settle_only(0, Vec::is_empty, vec![5, 6], hand);
        assert_eq!(settled.ok(), Some(((), Co::new(1, 2, 3))));
        Next::Look
    };
    let waiter = Waiter::Co(Co::new(1, 2, 3));
    let (guard, left) =
        queue.lock().wait(0, waiter, vec![], || First::Wait, next, |_, _| unreachable!());
    assert!(guard.is_empty(0));
    assert_eq!((left.stage, left.payload), (Stage::Met, vec![5, 6]));
    assert!(left.waiter.is_none());
}

#[test]
fn one_that_waits_looks_first_if_it_says_so_and_may_change_its_waiter() {
    let queue = Numbers::<Local>::new(0);
    let co = Co::new(0, 0, 1);
    let settle = || queue.lock().settle_only(0, |_| true, (), |_, ()| ()).ok();
    let turn = Cell::new(0);
    let next = || {
        turn.set(turn.get() + 1);
        if turn.get() == 2 {
            assert_eq!(settle(), Some(((), co)), "the waiter has changed");
        }
        Next::Look
    };
    let first = || First::LookAs(Waiter::Co(co));
    let (guard, left) = queue.lock().wait(0, bell(), vec![], first, next, |_, _| unreachable!());
    drop(guard);
    assert_eq!((turn.get(), left.stage), (2, Stage::Met));
    assert!(left.waiter.is_none());
    // It was settled before it looks.
    for is_changed in [true, false] {
        let first = || {
            assert!(settle().is_some());
            if is_changed { First::LookAs(bell()) } else { First::Look }
        };
        let waiter = Waiter::Co(co);
        let next = || unreachable!("it does not wait");
        let (guard, left) = queue.lock().wait(0, waiter, vec![], first, next, |_, _| ());
        drop(guard);
        assert_eq!(left.stage, Stage::Met);
        assert_eq!(left.waiter.is_some(), is_changed, "the unused one is handed back");
    }
}

/// Has `end` look at what a wait leaves behind, whether it was settled or not, and says what became of the waiter and
/// the payload.
fn look_at_rest(is_settled: bool, end: impl FnOnce(&mut Vec<Arc<()>>)) {
    let queue = WaitQueue::<Local, (), Vec<Arc<()>>, 1>::new(());
    let (waiter, payload) = (Arc::new(Bell::new()), Arc::new(()));
    let next = || {
        let key = queue.lock().first(0).map(|first| first.key);
        if is_settled {
            let key = key.expect("it waits");
            let settled = queue.lock().settle(0, key, Stage::Met, (), |_, ()| ());
            assert!(settled.is_ok());
        }
        Next::Leave
    };
    let stage = if is_settled { Stage::Met } else { Stage::Waiting };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        queue.lock().wait_then(
            0,
            Waiter::Thread(waiter.clone()),
            vec![payload.clone()],
            || First::Wait,
            next,
            |_, _| unreachable!("it does not unwind while it waits"),
            |guard, seen, payload| {
                assert_eq!(seen, stage);
                assert!(guard.is_empty(0), "it was unlinked");
                drop(guard);
                end(payload);
            },
        )
    }));
    drop(ended);
    assert!(queue.lock().is_empty(0));
    assert_eq!(Arc::strong_count(&waiter), 1, "the waiter is dropped once");
    assert_eq!(Arc::strong_count(&payload), 1, "the payload is dropped once");
}

#[test]
fn what_the_end_of_a_wait_leaves_of_it_is_dropped_once() {
    for is_settled in [true, false] {
        look_at_rest(is_settled, |_| ());
        look_at_rest(is_settled, |payload| drop(core::mem::take(payload)));
        look_at_rest(is_settled, |_| panic!("the end of a wait unwinds"));
    }
}

#[test]
fn only_a_plain_coroutine_that_is_alone_is_the_usual_case() {
    let queue = Numbers::<Local>::new(0);
    let mut guard = queue.lock();
    let usual = |guard: &mut Guard<'_, Local, usize, Vec<u32>, 2>| {
        guard.settle_only(0, |payload| payload.is_empty(), (), |_, ()| ()).is_ok()
    };
    assert!(!usual(&mut guard), "nobody waits");
    let thread = guard.link_on_heap(0, bell(), vec![]);
    assert!(!usual(&mut guard), "a thread");
    drop(guard.leave(thread));
    let co = || Waiter::Co(Co::new(0, 0, 1));
    let select = guard.link_on_heap(0, co(), vec![1]);
    assert!(!usual(&mut guard), "not plain");
    let second = guard.link_on_heap(0, co(), vec![]);
    assert!(!usual(&mut guard), "two");
    drop(guard.leave(select));
    assert!(usual(&mut guard));
    assert_eq!(guard.stage(second.handle()), Stage::Met);
    drop(guard);
}

#[test]
fn memory_of_heap_nodes_is_used_again() {
    let queue = Numbers::<Local>::new(0);
    let nodes = [1, 2].map(|n| queue.lock().link_on_heap(0, bell(), vec![n]));
    let mut before = nodes.each_ref().map(|node| node.handle().key());
    drop(nodes);
    assert!(queue.lock().is_empty(0));
    let nodes = [3, 4].map(|n| queue.lock().link_on_heap(1, bell(), vec![n]));
    let mut after = nodes.each_ref().map(|node| node.handle().key());
    before.sort_by_key(|key| key.number());
    after.sort_by_key(|key| key.number());
    assert_eq!(before, after);
    assert_eq!(seen(&queue, 1), [[3], [4]]);
}

#[test]
fn what_is_dropped_after_its_queue_may_be_borrowed_by_what_waits() {
    let queue = WaitQueue::<Local, (), Option<&String>, 1>::new(());
    let text = String::from("later");
    let node = queue.lock().link_on_heap(0, bell(), Some(&text));
    assert_eq!(queue.lock().payload(node.handle()).take(), Some(&text));
    drop(node);
}

#[test]
fn the_state_is_there_without_the_lock_for_who_has_the_whole_queue() {
    let (mut local, mut shared) = (Numbers::<Local>::new(1), Numbers::<Shared>::new(1));
    *local.get_mut() += 1;
    *shared.get_mut() += 1;
    assert_eq!((*local.lock(), *shared.lock()), (2, 2));
}

#[test]
fn a_heap_node_that_is_forgotten_can_be_settled() {
    let queue = Numbers::<Local>::new(0);
    let node = queue.lock().link_on_heap(0, bell(), vec![]);
    // Miri would call it leaked.
    let node = core::mem::ManuallyDrop::new(node);
    let key = first(&queue, 0);
    assert!(queue.lock().settle(0, key, Stage::Met, 1, Vec::push).is_ok());
    assert!(queue.lock().is_empty(0));
    drop(core::mem::ManuallyDrop::into_inner(node));
}

#[test]
fn a_node_of_another_queue_is_refused() {
    let (one, other) = (Numbers::<Local>::new(0), Numbers::<Local>::new(0));
    let node = one.lock().link_on_heap(0, bell(), vec![]);
    let refused = catch_unwind(AssertUnwindSafe(|| other.lock().stage(node.handle())));
    let message = *refused.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "a node of another queue");
    assert!(!one.lock().is_empty(0));
}

#[test]
fn what_is_given_with_a_node_of_another_queue_is_not_dropped_under_the_lock() {
    struct Rest<'a>(&'a Cell<u32>);
    impl Drop for Rest<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let new = || WaitQueue::<Local, (), Rest<'_>, 1>::new(());
    let (one, other) = (new(), new());
    // Miri would call a bell leaked.
    let waiter = || Waiter::Co(Co::new(0, 0, 1));
    let mut node = Some(one.lock().link_on_heap(0, waiter(), Rest(&dropped)));
    let refused = catch_unwind(AssertUnwindSafe(|| {
        drop(other.lock().link_again(&mut node, 0, waiter(), Rest(&dropped)));
    }));
    assert_eq!(refused.err().unwrap().downcast_ref(), Some(&"a node of another queue"));
    assert_eq!(dropped.get(), 0);
    assert!(!one.lock().is_empty(0) && other.lock().is_empty(0), "nothing has changed");
}

#[test]
fn a_line_that_is_not_there_is_refused_and_nothing_changes() {
    let queue = Numbers::<Local>::new(0);
    let kept = queue.lock().link_on_heap(0, bell(), vec![1]);
    for line in [2, 256, usize::MAX] {
        let refused = catch_unwind(AssertUnwindSafe(|| give_up(&queue, line, vec![])));
        assert!(refused.is_err());
        let refused = catch_unwind(AssertUnwindSafe(|| {
            drop(queue.lock().link_on_heap(line, Waiter::Co(Co::new(0, 0, 1)), vec![]));
        }));
        assert!(refused.is_err());
    }
    assert_eq!(seen(&queue, 0), [[1]]);
    drop(kept);
}

#[test]
fn a_payload_that_panics_when_it_is_dropped_is_out_of_its_line_by_then() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a payload's destructor");
        }
    }
    let queue = WaitQueue::<Local, (), Option<Bomb>, 1>::new(());
    let node = queue.lock().link_on_heap(0, bell(), Some(Bomb));
    // A node's own destructor raises nothing.
    drop(node);
    assert!(queue.lock().is_empty(0));
    let raised = catch_unwind(AssertUnwindSafe(|| {
        let (guard, left) = queue.lock().wait(
            0,
            bell(),
            Some(Bomb),
            || First::Wait,
            || Next::Leave,
            |_, _| unreachable!(),
        );
        assert!(guard.is_empty(0));
        drop(guard);
        drop(left);
    }));
    assert!(raised.is_err());
    assert!(queue.lock().is_empty(0));
}

#[test]
fn what_abandon_owns_may_panic_when_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("what abandon owns");
        }
    }
    let queue = Numbers::<Local>::new(0);
    let raised = catch_unwind(AssertUnwindSafe(|| {
        let bomb = Bomb;
        let abandon = |_: Guard<'_, _, _, _, 2>, _| drop(bomb);
        let wait = queue.lock().wait(0, bell(), vec![1], || First::Wait, || Next::Leave, abandon);
        drop(wait);
    }));
    assert!(raised.is_err());
    assert!(queue.lock().is_empty(0), "its frame is gone");
}

#[test]
fn threads_wait_are_settled_and_give_up_all_at_once() {
    const EACH: usize = if cfg!(miri) { 20 } else { 2_000 };
    let queue = &Numbers::<Shared>::new(0);
    let taken = std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(move || (0..EACH).filter(|turn| wait(queue, turn % 3 == 0)).count())
            })
            .collect();
        let mut given = 0;
        while !waiters.iter().all(|waiter| waiter.is_finished()) {
            given += usize::from(give(queue));
            std::thread::yield_now();
        }
        let had: usize = waiters.into_iter().map(|waiter| waiter.join().unwrap()).sum();
        (given, had)
    });
    assert!(queue.lock().is_empty(0));
    assert_eq!(taken.0, taken.1, "what is handed over is had, or comes back");
}

/// Waits for a number, or gives up at once if it is `hasty`; says whether it was handed one.
fn wait(queue: &Numbers<Shared>, is_hasty: bool) -> bool {
    let bell = Arc::new(Bell::new());
    let next = || {
        if is_hasty {
            return Next::Leave;
        }
        bell.wait();
        Next::Look
    };
    let waiter = Waiter::Thread(bell.clone());
    let (guard, left) =
        queue.lock().wait(0, waiter, vec![], || First::Wait, next, |_, _| unreachable!());
    drop(guard);
    assert_eq!(left.stage == Stage::Met, !left.payload.is_empty());
    assert!(is_hasty || left.stage == Stage::Met);
    left.stage == Stage::Met
}

fn give(queue: &Numbers<Shared>) -> bool {
    let mut guard = queue.lock();
    let Some(key) = guard.first(0).map(|first| first.key) else { return false };
    let settled = guard.settle(0, key, Stage::Met, 1, Vec::push);
    drop(guard);
    let (_, waiter) = settled.expect("it is the first");
    waiter.into_iter().for_each(Waiter::wake);
    true
}

#[test]
fn lines_that_were_made_are_as_those_that_a_queue_has() {
    let queue = Numbers::<Shared>::new(0);
    let refused = catch_unwind(AssertUnwindSafe(|| give_up(&queue, 5, vec![])));
    assert!(refused.is_err(), "it was not made");
    queue.lock().make_lines(6);
    queue.lock().make_lines(3);
    let nodes = [5, 1, 5, 2, 5].map(|line| queue.lock().link_on_heap(line, bell(), vec![]));
    assert_eq!(seen(&queue, 5).len(), 3, "fewer change nothing");
    // More of them, while some are in line.
    queue.lock().make_lines(100);
    let key = nodes[2].handle().key();
    assert!(queue.lock().settle(5, key, Stage::Met, 7, Vec::push).is_ok());
    let next = || {
        assert_eq!(seen(&queue, 5), [vec![], vec![], vec![8]]);
        assert_eq!(queue.lock().settle_all(5, Stage::Refused).len(), 3);
        Next::Look
    };
    let (guard, left) =
        queue.lock().wait(5, bell(), vec![8], || First::Wait, next, |_, _| unreachable!());
    assert_eq!((left.stage, left.payload), (Stage::Refused, vec![8]));
    assert!(guard.is_empty(5) && !guard.is_empty(1) && !guard.is_empty(2));
    drop(guard);
    assert_eq!(give_up(&queue, 99, vec![]).stage, Stage::Waiting);
    let stages = nodes.map(|node| queue.lock().leave(node).stage);
    assert_eq!(
        stages,
        [Stage::Refused, Stage::Waiting, Stage::Met, Stage::Waiting, Stage::Refused]
    );
    assert!((0..100).all(|line| queue.lock().is_empty(line)));
}

#[test]
fn one_that_is_linked_again_keeps_its_place_as_long_as_it_waits() {
    let queue = Numbers::<Local>::new(0);
    let mut own = None;
    assert!(queue.lock().link_again(&mut own, 0, bell(), vec![1]).is_none());
    let behind = queue.lock().link_on_heap(0, bell(), vec![2]);
    let left = queue.lock().link_again(&mut own, 0, Waiter::Co(Co::new(0, 0, 1)), vec![3]);
    let left = left.expect("what it had before");
    assert!(matches!(left.waiter, Some(Waiter::Thread(_))));
    assert_eq!((left.stage, left.payload), (Stage::Waiting, vec![1]));
    assert_eq!(seen(&queue, 0), [[3], [2]], "it has kept its place");
    let woken = queue.lock().settle_first(0, Stage::Met, 4, Vec::push).ok();
    assert!(matches!(woken, Some(((), Some(Waiter::Co(_))))));
    let left = queue.lock().link_again(&mut own, 0, bell(), vec![5]).expect("it was settled");
    assert_eq!((left.stage, left.payload), (Stage::Met, vec![3, 4]));
    assert_eq!(seen(&queue, 0), [[2], [5]], "it stands at the end");
    drop(queue.lock().link_again(&mut own, 1, bell(), vec![6]));
    assert_eq!((seen(&queue, 0), seen(&queue, 1)), (vec![vec![2]], vec![vec![6]]));
    let refused = catch_unwind(AssertUnwindSafe(|| {
        drop(queue.lock().link_again(&mut own, 2, Waiter::Co(Co::new(0, 0, 1)), vec![]));
    }));
    assert!(refused.is_err());
    assert_eq!(seen(&queue, 1), [[6]], "nothing has changed");
    drop((own, behind));
}

#[test]
fn one_that_is_polled_twice_is_woken_once_for_both() {
    let mut polled = Polled::new();
    let co = |n| Waiter::Co(Co::new(0, 0, n));
    let merge = |known: &mut u32, other| *known |= other;
    assert!(polled.add(1, co(1), merge).is_none());
    assert!(polled.add(1, co(2), merge).is_none());
    assert!(polled.add(2, co(1), merge).is_some_and(|unused| unused.is_same(&co(1))));
    assert_eq!(polled.len(), 2);
    assert!(polled.take(|payload| payload & 2 != 0).is_some_and(|woken| woken.is_same(&co(1))));
    assert!(polled.take(|payload| payload & 2 != 0).is_none(), "it was forgotten");
    assert!(polled.take(|_| true).is_some_and(|woken| woken.is_same(&co(2))));
    assert!(polled.is_empty());
}
