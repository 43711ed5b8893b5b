//! Timers against a model, and the cases that are easily wrong.

use super::*;
use crate::policy::testing::Random;
use std::collections::{BTreeMap, HashSet};

const SECOND: u64 = 1_000_000_000;
const YEAR: u64 = 365 * 24 * 3600 * SECOND;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn all_due<T>(timers: &mut Timers<T>) -> Vec<(u64, T)> {
    core::iter::from_fn(|| timers.pop_due())
        .map(|(when, payload)| (when.as_nanos(), payload))
        .collect()
}

impl Random {
    /// Of any magnitude below 2 to the `bits`.
    fn of_any_size(&mut self, bits: u64) -> u64 {
        let bits = 1 + self.below_u64(bits);
        self.below_u64(1 << bits)
    }
}

/// Some operations in a row, the results compared with those of a sorted map.
fn compare_with_a_map(seed: u64, operations: usize, population: usize) {
    let mut random = Random(seed);
    let mut now = random.of_any_size(40);
    let mut timers = Timers::new(at(now));
    let mut model = BTreeMap::<(Time, u64), TimerKey>::new();
    let mut keys = Vec::new();
    for serial in 0..operations as u64 {
        match random.below_u64(20) {
            0..9 if model.len() < population => {
                let when = match random.below_u64(10) {
                    0 => Time::NEVER,
                    1 => at(now.saturating_sub(random.of_any_size(30))),
                    2 => at(now + random.below_u64(4)),
                    // One that is there: a tie.
                    3 if !model.is_empty() => {
                        let from = (at(now + random.of_any_size(34)), 0);
                        model.range(from..).next().map_or(at(now), |((when, _), _)| *when)
                    }
                    4 => at(now + random.of_any_size(62)),
                    _ => at(now + random.of_any_size(40)),
                };
                let key = timers.insert(when, serial);
                model.insert((when, serial), key);
                keys.push((when, serial, key));
            }
            0..12 if !keys.is_empty() => {
                let (when, serial, key) = keys[random.below_u64(keys.len() as u64) as usize];
                let expected = model.remove(&(when, serial)).map(|_| serial);
                assert_eq!(timers.remove(key), expected);
            }
            12..15 => {
                // In big steps, in small ones, and as virtual time does.
                now = match random.below_u64(1000) {
                    0 => now + random.of_any_size(52),
                    1..100 => now + random.of_any_size(36),
                    100..400 => now + random.of_any_size(20),
                    _ => timers
                        .next()
                        .map_or(now, |next| next.as_nanos().clamp(now, now + (1 << 42))),
                };
                timers.advance(at(now));
            }
            _ => {
                let first = model.first_key_value().map(|((when, _), _)| *when);
                let first = first.filter(|&when| when <= at(now) && when != Time::NEVER);
                assert_eq!(timers.due(), first);
                let Some(first) = first else {
                    assert_eq!(timers.pop_due(), None);
                    continue;
                };
                let ties: Vec<u64> =
                    model.range((first, 0)..=(first, u64::MAX)).map(|t| t.0.1).collect();
                assert!(timers.ties().map(|(_, serial)| *serial).eq(ties.iter().copied()));
                assert_eq!(timers.pop_due_nth(ties.len()), None);
                let n = random.below_u64(ties.len() as u64 + 2) as usize % ties.len();
                assert_eq!(timers.pop_due_nth(n), Some((first, ties[n])));
                model.remove(&(first, ties[n]));
            }
        }
        assert_eq!(timers.len(), model.len());
        let first = model.first_key_value().map(|((when, _), _)| *when);
        match (timers.next(), first.filter(|&when| when != Time::NEVER)) {
            (Some(next), Some(first)) if population <= 32 => assert_eq!(next, first),
            (next, first) => assert!(next <= first && next.is_some() == first.is_some()),
        }
    }
    timers.advance(Time::NEVER);
    for (&(when, serial), _) in model.iter().filter(|((when, _), _)| *when != Time::NEVER) {
        assert_eq!(timers.pop_due(), Some((when, serial)));
    }
    assert_eq!(timers.pop_due(), None);
    assert_eq!(timers.next(), None);
}

#[test]
fn they_do_as_a_sorted_map_does() {
    for (seed, population) in [(1, 8), (2, 32), (3, 300), (4, 3000), (5, 100_000), (6, 100)] {
        let operations = if cfg!(miri) { 100 } else { 100_000 };
        compare_with_a_map(seed, operations, population);
    }
}

#[test]
fn ties_come_in_order_of_insertion_however_far_ahead_they_were_inserted() {
    let mut timers = Timers::new(at(0));
    let deadline = 3 * YEAR + 12_345;
    for (n, before) in [YEAR, SECOND, 70_000, 4_000, 100, 64, 63, 1, 0].into_iter().enumerate() {
        timers.advance(at(deadline - before));
        timers.insert(at(deadline), n);
    }
    assert_eq!(timers.ties().map(|(_, n)| *n).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    assert_eq!(all_due(&mut timers), (0..9).map(|n| (deadline, n)).collect::<Vec<_>>());
}

#[test]
fn nothing_fires_a_nanosecond_early_or_late() {
    for shift in 0..63 {
        let when = (1_u64 << shift) + shift;
        let mut timers = Timers::new(at(0));
        timers.insert(at(when), ());
        timers.advance(at(when - 1));
        assert_eq!((timers.pop_due(), timers.next()), (None, Some(at(when))));
        timers.advance(at(when));
        assert_eq!(timers.pop_due(), Some((at(when), ())));
    }
}

#[test]
fn never_does_not_fire_and_the_last_nanosecond_does() {
    let mut timers = Timers::new(at(0));
    let never = timers.insert(Time::NEVER, "never");
    assert_eq!((timers.next(), timers.len()), (None, 1));
    timers.insert(at(u64::MAX - 1), "last");
    assert_eq!(timers.next(), Some(at(u64::MAX - 1)));
    timers.advance(Time::NEVER);
    timers.insert(Time::NEVER, "never again");
    timers.insert(at(0), "first");
    assert_eq!(all_due(&mut timers), [(0, "first"), (u64::MAX - 1, "last")]);
    assert_eq!(timers.remove(never), Some("never"));
    assert_eq!(timers.len(), 1);
}

#[test]
fn keys_of_timers_that_are_gone_name_nobody() {
    let mut timers = Timers::new(at(100));
    let fired = timers.insert(at(100), 1);
    assert_eq!(timers.pop_due(), Some((at(100), 1)));
    let again = timers.insert(at(200), 2);
    assert_eq!(again.index, fired.index, "the slot is used again");
    assert_eq!(timers.remove(fired), None);
    assert_eq!(timers.remove(again), Some(2));
    assert_eq!(timers.remove(again), None);
    let past = timers.insert(at(50), 3);
    assert_eq!(timers.remove(past), Some(3));
    assert_eq!((timers.remove(past), timers.pop_due(), timers.len()), (None, None, 0));
    assert_eq!(size_of::<Option<TimerKey>>(), 16);
}

#[test]
fn a_huge_jump_fires_all_in_order() {
    let mut timers = Timers::new(at(7));
    let mut random = Random(9);
    let mut expected: Vec<(u64, usize)> =
        (0..5000).map(|n| (7 + random.of_any_size(57), n)).collect();
    for &(when, n) in &expected {
        timers.insert(at(when), n);
    }
    expected.sort();
    timers.advance(at(5 * YEAR));
    assert_eq!(all_due(&mut timers), expected);
    assert!(timers.is_empty());
}

#[test]
fn what_is_inserted_while_popping_has_its_turn() {
    let mut timers = Timers::new(at(0));
    timers.insert(at(100), "a");
    timers.insert(at(300), "d");
    timers.advance(at(1000));
    assert_eq!(timers.pop_due(), Some((at(100), "a")));
    timers.insert(at(200), "c");
    timers.insert(at(50), "past");
    timers.insert(at(100), "b");
    timers.insert(at(1000), "now");
    timers.insert(at(1001), "later");
    timers.insert(at(50), "past too");
    let order: Vec<_> = all_due(&mut timers).into_iter().map(|(_, name)| name).collect();
    assert_eq!(order, ["past", "past too", "b", "c", "d", "now"]);
    assert_eq!(timers.next(), Some(at(1001)));
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut timers = Timers::new(at(1000));
    timers.insert(at(1500), ());
    timers.advance(at(1500));
    timers.advance(at(10));
    assert_eq!(timers.pop_due(), Some((at(1500), ())));
}

#[test]
fn next_leads_to_the_first_deadline_in_few_steps() {
    // Removing in order of deadline is what makes floors vague.
    let mut timers = Timers::new(at(0));
    let start = 30 * SECOND;
    let keys: Vec<_> = (0..if cfg!(miri) { 200 } else { 10_000 })
        .map(|n| timers.insert(at(start + n * 77), n))
        .collect();
    for &key in &keys[..9_900] {
        timers.remove(key);
    }
    let mut steps = 0;
    let mut last = at(0);
    let fired = loop {
        let next = timers.next().expect("there are 100 left");
        assert!(next > last, "it moves on");
        last = next;
        timers.advance(next);
        if timers.next() == timers.due() {
            break timers.pop_due().expect("it is due");
        }
        steps += 1;
    };
    assert_eq!(fired, (at(start + 9_900 * 77), 9_900));
    assert!(steps <= 10, "{steps}");
}

#[test]
fn slots_are_used_again() {
    let mut timers = Timers::new(at(0));
    let mut indices = HashSet::new();
    for n in 0..if cfg!(miri) { 50 } else { 1000 } {
        let keys = [n, n + 5, n * 1000].map(|when| timers.insert(at(when), n));
        for key in keys {
            indices.insert(key.index);
            timers.remove(key);
        }
    }
    assert_eq!(indices.len(), 3);
}

#[test]
#[cfg_attr(miri, ignore = "stacks are not measured there")]
fn they_can_be_made_on_a_small_stack() {
    // A system may be made by a coroutine. An overflow aborts.
    let small = std::thread::Builder::new().stack_size(32 << 10);
    let made = small.spawn(|| Timers::<u64>::new(at(0)).len()).expect("a thread");
    assert_eq!(made.join().expect("no overflow"), 0);
}
