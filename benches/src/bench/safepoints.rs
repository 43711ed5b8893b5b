//! What safepoints cost in real loops: the same functions with the attribute and without.

use std::hint::black_box;

use super::{Bench, Case, Chart};
use crate::outcome::Verdict;
use crate::subject;

/// What is computed.
#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    Sum,
    Matrix,
    Hash,
    Sort,
    Fib,
}

/// Numbers that are summed, bytes that are hashed, numbers that are sorted.
pub const LENGTH: usize = 16_384;
/// Rows of a matrix.
pub const ROWS: usize = 128;
pub const FIB: u32 = 22;

/// Defines the functions, with this attribute on each.
macro_rules! loops {
    ($(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[inline(never)]
        fn sum(numbers: &[u64]) -> u64 {
            let mut sum = 0_u64;
            for number in numbers {
                sum = sum.wrapping_add(*number);
            }
            sum
        }

        $(#[$attribute])*
        #[inline(never)]
        fn matrix(rows: usize, a: &[f64], b: &[f64], product: &mut [f64]) {
            for i in 0..rows {
                let row = &mut product[i * rows..(i + 1) * rows];
                for k in 0..rows {
                    let factor = a[i * rows + k];
                    let other = &b[k * rows..(k + 1) * rows];
                    for j in 0..rows {
                        row[j] += factor * other[j];
                    }
                }
            }
        }

        $(#[$attribute])*
        #[inline(never)]
        fn hash(bytes: &[u8]) -> u64 {
            let mut hash = 0xcbf2_9ce4_8422_2325_u64;
            for byte in bytes {
                hash ^= u64::from(*byte);
                hash = hash.wrapping_mul(0x100_0000_01b3);
            }
            hash
        }

        $(#[$attribute])*
        #[inline(never)]
        fn sort(numbers: &mut [u32]) {
            let len = numbers.len();
            if len <= 16 {
                for at in 1..len {
                    let number = numbers[at];
                    let mut place = at;
                    while place > 0 && numbers[place - 1] > number {
                        numbers[place] = numbers[place - 1];
                        place -= 1;
                    }
                    numbers[place] = number;
                }
                return;
            }
            numbers.swap(len / 2, len - 1);
            let (pivot, mut place) = (numbers[len - 1], 0);
            for at in 0..len - 1 {
                if numbers[at] < pivot {
                    numbers.swap(at, place);
                    place += 1;
                }
            }
            numbers.swap(place, len - 1);
            let (left, right) = numbers.split_at_mut(place);
            sort(left);
            sort(&mut right[1..]);
        }

        $(#[$attribute])*
        #[inline(never)]
        fn fib(n: u32) -> u64 {
            if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
        }

        /// Computes so many times; for each element, or each call.
        pub fn contender(
            name: &'static str,
            work: $crate::bench::safepoints::Work,
        ) -> $crate::contender::Contender {
            use std::hint::black_box;
            use $crate::bench::safepoints::{FIB, LENGTH, ROWS, Work, numbers};
            let all = numbers();
            let bytes: Vec<u8> = all.iter().map(|n| *n as u8).collect();
            let words: Vec<u32> = all.iter().map(|n| *n as u32).collect();
            let a: Vec<f64> = all[..ROWS * ROWS].iter().map(|n| *n as f64).collect();
            let (mut product, mut sorted) = (vec![0.0; ROWS * ROWS], words.clone());
            $crate::contender::Contender::timed(name, move |n| {
                for _ in 0..n / $crate::bench::safepoints::operations(work) {
                    match work {
                        Work::Sum => drop(black_box(sum(black_box(&all[..LENGTH])))),
                        Work::Matrix => matrix(ROWS, black_box(&a), &a, black_box(&mut product)),
                        Work::Hash => drop(black_box(hash(black_box(&bytes[..LENGTH])))),
                        Work::Sort => {
                            sorted.copy_from_slice(&words);
                            sort(black_box(&mut sorted));
                            assert!(sorted.is_sorted());
                        }
                        Work::Fib => drop(black_box(fib(black_box(FIB)))),
                    }
                }
            })
        }
    };
}
pub(crate) use loops;

mod plain {
    super::loops!();
}

/// Numbers without order.
pub fn numbers() -> Vec<u64> {
    let mut x = 88_172_645_463_325_252_u64;
    let next = |_| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        black_box(x)
    };
    (0..LENGTH).map(next).collect()
}

/// What is counted in one computation.
pub fn operations(work: Work) -> u64 {
    match work {
        Work::Sum | Work::Hash | Work::Sort => LENGTH as u64,
        Work::Matrix => (ROWS * ROWS * ROWS) as u64,
        // Calls of it.
        Work::Fib => 57_313,
    }
}

fn cases(work: Work) -> Vec<Case> {
    let mut contenders = subject::safepoints(work);
    contenders.push(plain::contender("plain", work));
    let load = super::Load::Filling { granule: operations(work) };
    vec![Case { parameter: None, load, isolated: false, rounds: None, contenders }]
}

macro_rules! benches {
    ($($bench:ident $name:literal $work:expr, $about:literal;)*) => {$(
        pub const $bench: Bench = Bench {
            name: concat!("safepoint-", $name),
            unit: "ns",
            about: $about,
            parameter: "",
            chart: Chart::Dots,
            cases: |_| cases($work),
            judge: |outcome| {
                outcome.at_most(None, "leno", "plain", 1.05).into_iter().collect::<Vec<Verdict>>()
            },
        };
    )*};
}

benches! {
    SUM "sum" Work::Sum, "one of 16,384 numbers that are added, with safepoints and without";
    MATRIX "matrix" Work::Matrix, "one product of a matrix product, with safepoints and without";
    HASH "hash" Work::Hash, "one byte that is hashed, with safepoints and without";
    SORT "sort" Work::Sort, "one of 16,384 numbers that are sorted, with safepoints and without";
    FIB_OF "fib" Work::Fib, "one call of a function that calls itself, with safepoints and without";
}
