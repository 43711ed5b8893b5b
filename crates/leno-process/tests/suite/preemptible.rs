//! `#[preemptible]` changes where code may be interrupted, and nothing else.
#![forbid(unsafe_code)]

use std::ops::ControlFlow;

use crate::support::{inside, round_robin};
use leno_kernel::Options;
use leno_process::{Budget, Sink, preemptible};

/// Breaks out of whatever loop it is used in.
macro_rules! leave_if {
    ($condition:expr) => {
        if $condition {
            break;
        }
    };
}

#[preemptible]
fn breaks_and_continues(limit: u32) -> Vec<u32> {
    let mut seen = Vec::new();
    for n in 0..limit {
        if n % 3 == 0 {
            continue;
        }
        if n == 2050 {
            break;
        }
        seen.push(n);
    }
    seen
}

#[preemptible(strip = 4)]
fn labels(limit: i32) -> Vec<(i32, i32)> {
    let mut seen = Vec::new();
    'outer: for a in -limit..limit {
        'inner: for b in 0..limit {
            if b == 2 {
                continue 'inner;
            }
            if b > a {
                continue 'outer;
            }
            if a == limit - 2 && b == 5 {
                break 'outer;
            }
            if b == 7 {
                break 'inner;
            }
            seen.push((a, b));
        }
        seen.push((a, 100));
    }
    seen
}

fn labels_plain(limit: i32) -> Vec<(i32, i32)> {
    let mut seen = Vec::new();
    'outer: for a in -limit..limit {
        'inner: for b in 0..limit {
            if b == 2 {
                continue 'inner;
            }
            if b > a {
                continue 'outer;
            }
            if a == limit - 2 && b == 5 {
                break 'outer;
            }
            if b == 7 {
                break 'inner;
            }
            seen.push((a, b));
        }
        seen.push((a, 100));
    }
    seen
}

#[preemptible(strip = 8)]
fn breaks_in_a_macro_at_the_end_of_a_strip(limit: usize) -> usize {
    let mut laps = 0;
    for n in 0..limit {
        leave_if!(n == 7);
        laps += 1;
    }
    for n in 0..limit {
        leave_if!(n == 8);
        laps += 1;
    }
    laps
}

#[preemptible]
fn values(text: &str) -> Option<u32> {
    let mut sum = 0;
    for word in text.split(' ') {
        sum += word.parse::<u32>().ok()?;
    }
    let doubled = loop {
        sum += 1;
        if sum % 10 == 0 {
            break sum * 2;
        }
    };
    let mut left = doubled;
    while let Some(less) = left.checked_sub(7) {
        left = less;
    }
    Some(doubled + left)
}

#[preemptible(strip = 3)]
fn slices(numbers: &mut [u64]) -> u64 {
    for number in numbers.iter_mut() {
        *number += 1;
    }
    let mut sum = 0;
    for number in &*numbers {
        sum += number;
    }
    for (place, number) in numbers.iter().enumerate() {
        sum += place as u64 * number;
    }
    // The type of a range is found by how it is used, as elsewhere.
    for place in 0..3 {
        sum += numbers[place];
    }
    for _ in 0..3 {
        sum += 1;
    }
    sum
}

#[preemptible(strip = 100)]
fn every_kind_of_range() -> u64 {
    let mut laps = 0;
    for _ in 0..u8::MAX {
        laps += 1;
    }
    for _ in i8::MIN..i8::MAX {
        laps += 1;
    }
    for _ in i64::MIN..i64::MIN + 1000 {
        laps += 1;
    }
    for _ in u128::MAX - 5..u128::MAX {
        laps += 1;
    }
    for _ in i128::MIN..i128::MIN + 250 {
        laps += 1;
    }
    let (high, low) = (5, 1);
    for _ in high..low {
        laps += 1;
    }
    for _ in 0..=10u16 {
        laps += 1;
    }
    for _ in 'a'..'e' {
        laps += 1;
    }
    laps
}

#[preemptible]
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

#[preemptible]
fn closures(numbers: &[u64]) -> u64 {
    let add = |limit: u64| {
        let mut sum = 0;
        for n in 0..limit {
            sum += n;
        }
        sum
    };
    let thread = std::thread::scope(|scope| {
        let sum = scope.spawn(|| {
            let mut sum = 0;
            for n in numbers {
                sum += n;
            }
            sum
        });
        sum.join().unwrap()
    });
    add(10) + thread
}

struct Tree(Vec<Tree>);

#[preemptible]
impl Tree {
    const EMPTY: Tree = Tree(Vec::new());

    fn size(&self) -> usize {
        let mut size = 1;
        for child in &self.0 {
            size += child.size();
        }
        size
    }

    fn owned(self) -> Vec<usize> {
        let mut sizes = Vec::new();
        for child in self.0 {
            sizes.push(child.size());
        }
        sizes
    }
}

/// The same result in slices of few units, of many, and outside of any.
fn same_in_slices<T: PartialEq + core::fmt::Debug + Send + 'static>(f: fn() -> T) -> usize {
    let expected = f();
    let slices = [1u64, 7, 5000].map(|units| {
        let (result, slices) = inside(move || {
            let sink = Sink::new();
            let result = sink.spawn(&Options::new(), f).unwrap();
            let slices = round_robin(&sink, Budget::units(units));
            (result.join().unwrap(), slices)
        });
        assert_eq!(result, expected, "in slices of {units}");
        slices
    });
    assert!(slices[0] >= slices[1] && slices[1] >= slices[2], "{slices:?}");
    slices[0]
}

/// Longer than any machine counts, and left in the middle.
#[preemptible]
fn returns_from_an_endless_loop(wanted: u128) -> u128 {
    for n in 0..(1 << 64) + 5 {
        if n == wanted {
            return n;
        }
    }
    0
}

#[preemptible]
fn short_loops_inside_others(rows: usize) -> Vec<usize> {
    let mut sums = vec![0; rows];
    for row in 0..rows {
        for n in 0..row {
            if n % 2 == 1 {
                continue;
            }
            sums[row] += n;
        }
        for sum in &mut sums {
            *sum += 1;
        }
    }
    sums
}

#[test]
fn loops_do_what_they_did() {
    assert_eq!(returns_from_an_endless_loop(2000), 2000);
    assert_eq!(short_loops_inside_others(6), [6, 6, 6, 8, 8, 12]);
    assert_eq!(breaks_and_continues(5000).len(), (0..2050).filter(|n| n % 3 != 0).count());
    assert_eq!(labels(12), labels_plain(12));
    assert_eq!(breaks_in_a_macro_at_the_end_of_a_strip(100), 15);
    assert_eq!(values("1 2 3"), Some(20 + 6));
    assert_eq!(values("1 x 3"), None);
    assert_eq!(slices(&mut [1, 2, 3, 4]), 2 + 3 + 4 + 5 + (3 + 2 * 4 + 3 * 5) + 2 + 3 + 4 + 3);
    assert_eq!(every_kind_of_range(), 255 + 255 + 1000 + 5 + 250 + 11 + 4);
    assert_eq!(fib(15), 610);
    assert_eq!(closures(&[1, 2, 3]), 45 + 6);
    let tree = Tree(vec![Tree(vec![Tree::EMPTY]), Tree::EMPTY]);
    assert_eq!((tree.size(), tree.owned()), (4, vec![2, 1]));
}

#[test]
fn m22_and_the_same_in_slices() {
    assert!(same_in_slices(|| breaks_and_continues(5000)) > 2000);
    same_in_slices(|| labels(12));
    same_in_slices(|| breaks_in_a_macro_at_the_end_of_a_strip(100));
    same_in_slices(|| values("1 2 3"));
    same_in_slices(|| slices(&mut [1, 2, 3, 4]));
    assert!(same_in_slices(every_kind_of_range) > 1700);
    assert!(same_in_slices(|| returns_from_an_endless_loop(2000)) > 2000);
    // Laps of the outer loop, of the first one inside, and of the second one.
    assert_eq!(same_in_slices(|| short_loops_inside_others(30)), 30 + 30 * 29 / 2 + 30 * 30 + 1);
    let slices = same_in_slices(|| fib(12));
    assert!(slices > 400);
    // It is entered 465 times; after the last it ends.
    assert_eq!(slices, 465 + 1);
}

#[test]
fn m22_budgets_end_after_exactly_so_many_laps() {
    #[preemptible]
    fn walk(limit: u32) -> ControlFlow<u32> {
        for n in 0..limit {
            std::hint::black_box(n);
        }
        ControlFlow::Continue(())
    }
    let units = inside(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || walk(10_000)));
        let mut units = Vec::new();
        while let Some(co) = sink.next() {
            units.push(co.attach(Budget::units(3000)).unwrap().units);
        }
        units
    });
    assert_eq!(units, [3000, 3000, 3000, 1000]);
}

/// How many units `f` uses.
fn units_of(f: impl FnOnce() + 'static) -> u64 {
    inside(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), f));
        let mut units = 0;
        while let Some(co) = sink.next() {
            units += co.attach(Budget::units(1 << 40)).unwrap().units;
        }
        units
    })
}

#[test]
fn m22_a_loop_that_is_left_early_counts_the_laps_it_has_made() {
    #[preemptible]
    fn find(numbers: &[u32], wanted: u32) -> Option<usize> {
        let mut place = None;
        for (n, number) in numbers.iter().enumerate() {
            if *number == wanted {
                place = Some(n);
                break;
            }
        }
        place
    }
    #[preemptible]
    fn find_in_range(wanted: u32) {
        for n in 0..u32::MAX {
            assert_ne!(n, u32::MAX);
            if n == wanted {
                break;
            }
        }
    }
    let numbers: Vec<u32> = (0..20_000).collect();
    let before = units_of(|| ());
    assert_eq!(units_of(move || assert_eq!(find(&numbers, 9_000), Some(9_000))) - before, 9_001);
    // The one that breaks is taken from the range, and made.
    assert_eq!(units_of(|| find_in_range(9_000)) - before, 9_001);
}

#[test]
fn m22_entries_of_functions_that_call_themselves_are_units() {
    #[preemptible]
    fn early(n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let below = early(n - 1);
        below + 1
    }
    #[preemptible]
    fn in_a_closure(n: u64) -> u64 {
        match n {
            0 => 0,
            n => {
                let parts = [n - 1; 2].map(in_a_closure_too);
                parts.iter().sum::<u64>() + [n].map(|n| in_a_closure(n - 1))[0]
            }
        }
    }
    fn in_a_closure_too(_: u64) -> u64 {
        1
    }
    let before = units_of(|| ());
    assert_eq!(units_of(|| assert_eq!(fib(12), 144)) - before, 465);
    assert_eq!(units_of(|| assert_eq!(early(50), 50)) - before, 51);
    assert_eq!(units_of(|| assert_eq!(in_a_closure(20), 40)) - before, 21);
}
