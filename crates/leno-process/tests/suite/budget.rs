//! Attaching with a budget: where it ends, what counts, what is refused.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::support::{Seen, inside, round_robin, say};
use leno_coroutine::Coroutine;
use leno_kernel::{
    Back, LocalSystem, Options, Outcome, Reason, System, attach, cancel, current, park, sleep,
    spawn_local, unpark, yield_now,
};
use leno_process::{
    AttachError, Budget, Preemptible, Sink, Slices, charge, no_preempt, preemptible, safepoint,
};

#[test]
fn m21_attach_preempts_an_endless_loop() {
    #[preemptible]
    fn for_ever(laps: &Cell<u64>) {
        loop {
            laps.set(laps.get() + 1);
        }
    }
    inside(|| {
        let laps = Rc::new(Cell::new(0));
        let inner = laps.clone();
        let sink = Sink::new();
        let handle = sink.spawn(&Options::new(), move || for_ever(&inner)).unwrap();
        let co = handle.co().unwrap();
        for slice in 1..=10 {
            assert_eq!(sink.next(), Some(co));
            let attached = co.attach(Budget::units(100)).unwrap();
            assert_eq!((attached.back, attached.units), (Back::Preempted, 100));
            assert_eq!(laps.get(), 100 * slice - 1, "preempted at the hundredth lap, before it");
        }
        // An endless loop can be ended: at its next safepoint without a budget.
        cancel(co);
        assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Exited));
    });
}

/// Three that compute, print and yield, each at its own pace.
fn trace(units: u64) -> u64 {
    #[preemptible]
    fn busy(name: u64, seen: &RefCell<u64>) {
        for lap in 0..500u64 {
            let mut hash = seen.borrow_mut();
            *hash = (*hash ^ (name << 32 | lap)).wrapping_mul(0x100_0000_01b3);
            drop(hash);
            if lap % (70 + name) == 0 {
                yield_now();
            }
            let mut left = lap % 7;
            while left > 0 {
                left -= 1;
            }
        }
    }
    inside(move || {
        let seen = Rc::new(RefCell::new(0xcbf2_9ce4_8422_2325));
        let sink = Sink::new();
        for name in 1..=3 {
            let seen = seen.clone();
            drop(sink.spawn(&Options::new(), move || busy(name, &seen)).unwrap());
        }
        round_robin(&sink, Budget::units(units));
        *seen.borrow()
    })
}

#[test]
fn m22_same_units_same_interleaving_in_every_run_and_build() {
    // These numbers hold in debug and release builds.
    assert_eq!(trace(100), HASH_OF_100);
    assert_eq!(trace(100), trace(100));
    assert_eq!(trace(17), HASH_OF_17);
    assert_ne!(trace(100), trace(17));
}

const HASH_OF_100: u64 = 10_949_723_497_456_129_243;
const HASH_OF_17: u64 = 3_172_995_485_374_130_287;

#[test]
fn m23_units_and_time_both_preempt() {
    #[preemptible]
    fn spin(is_over: &Cell<bool>) {
        while !is_over.get() {}
    }
    inside(|| {
        let is_over = Rc::new(Cell::new(false));
        let inner = is_over.clone();
        let sink = Sink::new();
        let handle = sink.spawn(&Options::new(), move || spin(&inner)).unwrap();
        let co = handle.co().unwrap();
        for budget in [Budget::units(1), Budget::units(5_000), Budget::time(Duration::ZERO)] {
            assert!(co.attach(budget).unwrap().is_preempted());
        }
        let slice = Duration::from_millis(2);
        let start = std::time::Instant::now();
        let attached = co.attach(Budget::time(slice)).unwrap();
        assert!(attached.is_preempted() && attached.units > 0);
        assert!(start.elapsed() >= slice, "not before its time");
        is_over.set(true);
        assert_eq!(co.attach(Budget::time(slice)).unwrap().back, Back::Ended(Outcome::Returned));
        handle.join().unwrap();
    });
}

#[test]
fn m23_only_safepoints_preempt() {
    inside(|| {
        let sink = Sink::new();
        let seen: Seen = Rc::default();
        let inner = seen.clone();
        let body = move || {
            // No macro, so no safepoints but this one.
            let sum: u64 = (0..10_000u64).map(std::hint::black_box).sum();
            say(&inner, format!("{sum}"));
            safepoint!(1000);
            say(&inner, "after");
        };
        drop(sink.spawn(&Options::new(), body).unwrap());
        assert!(sink.next().unwrap().attach(Budget::units(10)).unwrap().is_preempted());
        assert_eq!(*seen.borrow(), ["49995000"]);
        assert!(!sink.next().unwrap().attach(Budget::units(10)).unwrap().is_active());
    });
}

#[test]
fn m24_attach_says_why_it_came_back() {
    inside(|| {
        let sink = Sink::new();
        let body = || {
            yield_now();
            park(Reason::Passive);
            charge(50);
            7
        };
        let handle = sink.spawn(&Options::new(), body).unwrap();
        let co = handle.co().unwrap();
        let attach = |units| co.attach(Budget::units(units)).map(|attached| attached.back);
        assert_eq!(attach(20), Ok(Back::Yielded));
        assert_eq!(attach(20), Ok(Back::Parked(Reason::Passive)));
        assert!(matches!(attach(20), Err(AttachError::NotReady(..))));
        unpark(co);
        assert_eq!(attach(20), Ok(Back::Preempted));
        assert_eq!(attach(20), Ok(Back::Ended(Outcome::Returned)));
        assert_eq!(attach(20), Err(AttachError::Ended(co)));
        assert_eq!(handle.join().unwrap(), 7);
    });
}

#[test]
fn m31_a_section_without_preemption_is_contiguous() {
    let text = inside(|| {
        let seen: Seen = Rc::default();
        let sink = Sink::new();
        for (letters, is_whole) in [("abcdefghij", true), ("0123456789", false)] {
            let seen = seen.clone();
            let body = move || {
                let spell = || {
                    for letter in letters.chars() {
                        safepoint!();
                        say(&seen, letter);
                    }
                };
                if is_whole { no_preempt(spell) } else { spell() }
            };
            drop(sink.spawn(&Options::new(), body).unwrap());
        }
        round_robin(&sink, Budget::units(4));
        seen.take().concat()
    });
    assert_eq!(text, "abcdefghij0123456789");
}

#[test]
fn m31_a_section_stops_preemption_of_its_own_coroutine_only() {
    // One that may not be preempted parks inside its section: others are preempted meanwhile.
    let backs = inside(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || {
            no_preempt(|| {
                charge(500);
                yield_now();
                charge(500);
            });
        }));
        drop(sink.spawn(&Options::new(), || charge(500)));
        let mut backs = Vec::new();
        while let Some(co) = sink.next() {
            backs.push(co.attach(Budget::units(10)).unwrap().back);
        }
        backs
    });
    let ended = Back::Ended(Outcome::Returned);
    // The first is preempted when its section is over, which is when it has nothing left to do.
    assert_eq!(backs, [Back::Yielded, Back::Preempted, Back::Preempted, ended, ended]);
}

#[test]
fn m31_other_cores_are_not_concerned() {
    let system = System::builder().cores(2).preemptive().build().unwrap();
    let preempted = || {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || charge(100)));
        let first = sink.next().unwrap().attach(Budget::units(10)).unwrap();
        while let Some(co) = sink.next() {
            co.attach(Budget::units(1000)).unwrap();
        }
        first.is_preempted()
    };
    let (here, there) = (system.spawn(move || no_preempt(preempted)), system.spawn(preempted));
    assert!(here.join().unwrap(), "the section is the scheduler's, not its coroutine's");
    assert!(there.join().unwrap());
}

#[test]
fn c10_a_system_is_not_preemptive_unless_it_says_so() {
    let system = LocalSystem::new();
    let refused = system.spawn(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || ()));
        let co = sink.next().unwrap();
        let refused = co.attach(Budget::units(10)).unwrap_err();
        assert_eq!(refused, AttachError::NotPreemptive(co));
        assert_eq!(co.attach(Budget::Unlimited).unwrap().back, Back::Ended(Outcome::Returned));
        refused.to_string()
    });
    system.run().unwrap();
    assert!(refused.join().unwrap().contains("its system is not preemptive"));
}

#[test]
fn c10_a_nested_system_is_not_interrupted() {
    let seen = inside(|| {
        let seen: Seen = Rc::default();
        let sink = Sink::new();
        for name in ["x", "y"] {
            let seen = seen.clone();
            let body = move || {
                let inner = LocalSystem::new();
                for n in 0..3 {
                    let seen = seen.clone();
                    drop(inner.spawn(move || {
                        charge(100);
                        say(&seen, format!("{name}{n}"));
                    }));
                }
                inner.run().unwrap();
                charge(1);
                say(&seen, name);
            };
            drop(sink.spawn(&Options::new(), body).unwrap());
        }
        round_robin(&sink, Budget::units(10));
        seen.take()
    });
    assert_eq!(seen.join(" "), "x0 x1 x2 y0 y1 y2 x y", "preempted when the run is over");
}

#[test]
fn c15_operations_of_kernel_and_channels_are_units() {
    inside(|| {
        let sink = Sink::new();
        let (sender, receiver) = leno_channel::unbounded();
        let own = current().unwrap();
        let body = move || {
            for n in 0..30 {
                sender.send(n).unwrap();
            }
            for _ in 0..30 {
                unpark(own);
            }
            drop(receiver);
        };
        drop(sink.spawn(&Options::new(), body).unwrap());
        let mut slices = Vec::new();
        while let Some(co) = sink.next() {
            slices.push(co.attach(Budget::units(10)).unwrap());
        }
        assert!(slices.len() >= 6, "sixty operations: {slices:?}");
        assert!(slices[..5].iter().all(|slice| slice.units == 10));
    });
}

#[test]
fn a_budget_of_time_needs_real_time() {
    let system = LocalSystem::builder().preemptive().virtual_time().build();
    let done = system.spawn(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || sleep(Duration::from_secs(3600))));
        let co = sink.next().unwrap();
        let refused = co.attach(Budget::time(Duration::from_millis(1)));
        assert_eq!(refused, Err(AttachError::VirtualTime(co)));
        let attached = co.attach(Budget::units(100)).unwrap();
        assert_eq!(attached.back, Back::Parked(Reason::Sleeping));
        round_robin(&sink, Budget::units(100));
    });
    system.run().unwrap();
    done.join().unwrap();
}

#[test]
fn schedulers_with_budgets_nest() {
    // What an inner scheduler's coroutines use counts for the scheduler as well.
    let backs = inside(|| {
        let outer = Sink::new();
        let scheduler = || {
            let inner = Sink::new();
            drop(inner.spawn(&Options::new(), || (0..5).for_each(|_| charge(10))));
            round_robin(&inner, Budget::units(20));
            charge(1);
        };
        drop(outer.spawn(&Options::new(), scheduler));
        let mut backs = Vec::new();
        while let Some(co) = outer.next() {
            backs.push(co.attach(Budget::units(30)).unwrap());
        }
        backs
    });
    assert!(backs[0].is_preempted() && backs[0].units >= 50, "{backs:?}");
    assert!(!backs.last().unwrap().is_active());
}

#[test]
fn a_generator_inside_a_slice_is_preempted_with_its_coroutine() {
    #[preemptible]
    fn squares(co: &leno_coroutine::Suspender<(), u64>) {
        for n in 0..100 {
            co.suspend(n * n);
        }
    }
    let (sum, slices) = inside(|| {
        let sink = Sink::new();
        let body = || {
            let generator = Coroutine::new(|co, ()| squares(co));
            generator.iter().sum::<u64>()
        };
        let sum = sink.spawn(&Options::new(), body).unwrap();
        let slices = round_robin(&sink, Budget::units(7));
        (sum.join().unwrap(), slices)
    });
    assert_eq!(sum, 328_350);
    assert!(slices >= 100 / 7, "{slices}");
}

#[test]
fn a_coroutine_that_unwinds_is_not_preempted() {
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            (0..100).for_each(|_| charge(1));
        }
    }
    inside(|| {
        let sink = Sink::new();
        let body = || {
            let _counts = Counts;
            panic!("planned");
        };
        let handle = sink.spawn::<()>(&Options::new(), body).unwrap();
        let attached = sink.next().unwrap().attach(Budget::units(10)).unwrap();
        assert_eq!(attached.back, Back::Ended(Outcome::Panicked));
        handle.join().unwrap_err();
    });
}

#[test]
fn one_that_never_waits_exits_at_a_safepoint_wherever_it_was_preempted() {
    for units in 1..8 {
        let system = LocalSystem::builder().preemptive().build();
        let outcome = system.spawn(move || {
            let sink = Sink::new();
            let (sender, receiver) = leno_channel::unbounded();
            let body = move || {
                loop {
                    // A unit as well, and no place to exit.
                    sender.send(()).unwrap();
                    safepoint!();
                }
            };
            let busy = sink.spawn::<()>(&Options::new(), body).unwrap();
            let attached = sink.next().unwrap().attach(Budget::units(units)).unwrap();
            assert!(attached.is_preempted());
            busy.cancel();
            let outcome = busy.join().unwrap_err().outcome();
            drop(receiver);
            outcome
        });
        system.run().unwrap();
        assert_eq!(outcome.join().unwrap(), Some(Outcome::Exited), "preempted after {units}");
    }
}

#[test]
fn without_a_sink_the_core_runs_it_on() {
    let ran = inside(|| {
        let handle = spawn_local(|| (0..50).for_each(|_| charge(1)));
        let co = handle.co().unwrap();
        assert!(co.attach(Budget::units(10)).unwrap().is_preempted());
        assert!(co.attach(Budget::units(10)).unwrap().is_preempted());
        handle.join().is_ok()
    });
    assert!(ran);
}

#[test]
fn outside_of_any_budget_safepoints_do_nothing() {
    safepoint!();
    assert_eq!((0..1000).preemptible().sum::<u32>(), 499_500);
    assert_eq!(no_preempt(|| 5), 5);
    let done = inside(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || charge(1_000_000)));
        attach(sink.next().unwrap()).unwrap()
    });
    assert_eq!(done, Back::Ended(Outcome::Returned));
}

#[test]
fn time_slices_are_had_again_from_what_was_written_down() {
    let run = |mut slices: Slices| {
        inside(move || {
            let seen: Seen = Rc::default();
            let sink = Sink::new();
            for name in ["a", "b", "c"] {
                let seen = seen.clone();
                drop(sink.spawn(&Options::new(), move || crate::support::count_aloud(name, &seen)));
            }
            while let Some(co) = sink.next() {
                let budget = slices.budget(Budget::time(Duration::from_micros(50)));
                slices.note(&co.attach(budget).unwrap());
            }
            (seen.take().join(" "), slices)
        })
    };
    let (said, slices) = run(Slices::record());
    assert!(slices.len() > 6, "it was preempted: {slices}");
    for _ in 0..3 {
        let (again, followed) = run(slices.replay());
        assert_eq!(again, said);
        assert_eq!(followed.to_string(), slices.to_string());
    }
    let parsed: Slices = slices.to_string().parse().unwrap();
    assert_eq!(run(parsed).0, said);
    assert!("12 x".parse::<Slices>().unwrap_err().to_string().contains("\"x\""));
}
