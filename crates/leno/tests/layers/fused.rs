//! Fusion: two chips become one fibre, and what can be seen outside stays allowed.

use std::rc::Rc;

use leno::fibre::chip::{Transducer, filter, function, iterate, sink_to_list};
use leno::fibre::{Event, Runner};
use leno::kernel::log::Line;

fn stages() -> (Transducer<u32, u32>, Transducer<u32, u32>) {
    (function(|n| n * 3), filter(|n: &u32| n.is_multiple_of(2), |n| n + 1))
}

/// What comes out, how many fibres there were, how often one has read or written, and how many values have
/// passed between stages without a channel.
fn run(chip: Transducer<u32, u32>) -> (Vec<u32>, u64, usize, usize) {
    let list = Rc::default();
    let closed = iterate(0..20u32) | chip | sink_to_list(Rc::clone(&list));
    let ran = Runner::new().log(10_000).run(move |cx| drop(closed.start(cx, ())));
    assert_eq!((ran.report().panicked, ran.zombies().len()), (0, 0));
    let exchange = |event| matches!(event, Event::ReturnsRead(_) | Event::ReturnsWrite(_));
    let exchanges = ran.events().iter().filter(|happened| exchange(happened.event)).count();
    let passed = |line: &Line| line.what == "says: a value passes from function to filter";
    let inner = ran.log().lines().iter().filter(|line| passed(line)).count();
    (list.take(), ran.report().spawned, exchanges, inner)
}

#[test]
fn i10_two_chips_are_replaced_by_one_coroutine() {
    let (first, second) = stages();
    let piped = first | second;
    let principal = piped.control_type().unwrap();
    let fused = piped.clone().fused();
    assert!(fused.is_one_fibre() && !piped.is_one_fibre());
    // Whatever the one fibre shows outside, the two could have shown.
    fused.control_type().unwrap().included_in(&principal).unwrap();
    let (values, fibres, exchanges, none) = run(piped);
    let (same, fewer, less, inner) = run(fused.clone());
    assert_eq!(
        values,
        (0..20).map(|n| n * 3).filter(|n| n % 2 == 0).map(|n| n + 1).collect::<Vec<_>>()
    );
    assert_eq!(values, same);
    assert_eq!(fewer, fibres - 1, "one fibre less");
    // Twenty values no longer pass the channel between the two: a read and a write each.
    assert_eq!(less, exchanges - 2 * 20);
    // They are in the log all the same, so that it can be compared with that of the pipeline.
    assert_eq!((none, inner), (0, 20));
    // Held against the type of the pipeline, it keeps to it.
    let (again, ..) = run(fused.of_type(&principal));
    assert_eq!(values, again);
}
