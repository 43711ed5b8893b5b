//! Sections without preemption end in any order, and anywhere: nobody is interrupted outside of a region.

use std::cell::Cell;
use std::time::Duration;

use leno_context::interrupt::is_within;
use leno_kernel::{
    Budget, LocalSystem, NoPreempt, Options, Sink, can_preempt_anywhere, no_preempt,
    preempt_anywhere, yield_now,
};

/// Runs `f` in a coroutine, if code can be interrupted here.
fn run<R: 'static>(f: impl FnOnce() -> R + 'static) -> Option<R> {
    can_preempt_anywhere().ok()?;
    let system = LocalSystem::builder().preemptive().build();
    let result = system.spawn(f);
    system.run().unwrap();
    Some(result.join().unwrap())
}

#[test]
fn a_section_that_is_taken_out_of_its_region_ends_without_effect() {
    run(|| {
        // SAFETY: it begins a section, and nothing else.
        let section = unsafe { preempt_anywhere(NoPreempt::begin) };
        assert!(!is_within());
        drop(section);
        assert!(!is_within(), "the region is over");
    });
}

#[test]
fn a_section_that_is_kept_elsewhere_ends_without_effect_in_the_next_region() {
    thread_local!(static KEPT: Cell<Option<NoPreempt>> = const { Cell::new(None) });
    run(|| {
        let keep = || {
            let section = NoPreempt::begin();
            KEPT.set(Some(section));
        };
        // SAFETY: all that it does, it does in a section.
        unsafe { preempt_anywhere(keep) };
        let next = || {
            let own = NoPreempt::begin();
            drop(KEPT.take());
            assert!(!is_within(), "a section of this region is open");
            drop(own);
            is_within()
        };
        // SAFETY: it uses the thread-local in a section.
        assert!(unsafe { preempt_anywhere(next) });
        assert!(!is_within());
    });
}

#[test]
fn a_region_goes_on_when_the_last_of_its_sections_ends() {
    run(|| {
        let sections = || {
            let (one, two) = (NoPreempt::begin(), NoPreempt::begin());
            drop(one);
            let open = is_within();
            drop(two);
            (open, is_within())
        };
        // SAFETY: it begins and ends sections.
        assert_eq!(unsafe { preempt_anywhere(sections) }, (false, true));
        assert!(!is_within());
    });
}

#[test]
fn a_region_in_a_section_of_another_leaves_that_as_it_was() {
    run(|| {
        let outer = || {
            let before = is_within();
            let inside = no_preempt(|| {
                // SAFETY: it looks at a word.
                let inner = unsafe { preempt_anywhere(is_within) };
                (inner, is_within())
            });
            (before, inside, is_within())
        };
        // SAFETY: sections and regions only.
        assert_eq!(unsafe { preempt_anywhere(outer) }, (true, (true, false), true));
    });
}

#[test]
fn a_section_that_another_coroutine_ends_lets_nobody_be_interrupted() {
    thread_local!(static KEPT: Cell<Option<NoPreempt>> = const { Cell::new(None) });
    run(|| {
        let other = leno_kernel::spawn(|| {
            drop(KEPT.take());
            assert!(!is_within(), "it is in no region");
        });
        let keep = || {
            KEPT.set(Some(NoPreempt::begin()));
            yield_now();
            is_within()
        };
        // SAFETY: a section is open until the other one ends it, and nothing follows.
        let was_within = unsafe { preempt_anywhere(keep) };
        assert!(!was_within);
        other.join().unwrap();
    });
}

#[test]
fn a_budget_of_all_time_there_is_has_no_end() {
    let system = LocalSystem::builder().preemptive().build();
    let slices = system.spawn(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || (0..1000).for_each(|_| leno_kernel::charge(1))));
        let mut slices = 0;
        while let Some(co) = sink.next() {
            co.attach(Budget::time(Duration::MAX)).unwrap();
            slices += 1;
        }
        slices
    });
    system.run().unwrap();
    assert_eq!(slices.join().unwrap(), 1);
}
