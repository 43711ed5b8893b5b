//! Schedulers, fibres and channels, and the states they are in.

use crate::support::Notes;
use leno_channel::State;
use leno_fibre::{FibreState, SchedulerState, channel, depth, run, schedulers};

#[test]
fn k2_a_scheduler_is_current_or_suspended_and_nesting_is_counted() {
    use SchedulerState::{Current, Suspended};
    assert_eq!((depth(), schedulers()), (0, vec![]));
    let ran = run(|cx| {
        assert_eq!((depth(), cx.depth(), cx.schedulers()), (1, 1, vec![Current]));
        let inner = run(|_| run(|cx| (cx.depth(), schedulers())).result().unwrap()).result();
        assert_eq!(schedulers(), [Current]);
        inner
    });
    assert_eq!(ran.result().unwrap().unwrap(), (3, vec![Suspended, Suspended, Current]));
    assert_eq!(depth(), 0);
}

#[test]
fn k8_a_run_begins_with_one_running_fibre_and_suspends_the_outer_one() {
    let notes = Notes::default();
    let say = notes.clone();
    run(move |cx| {
        let other = say.clone();
        cx.spawn(move |_| other.say("outer"));
        assert_eq!(cx.look().active().len(), 1);
        let inner = say.clone();
        run(move |cx| {
            let look = cx.look();
            assert_eq!((look.running(), look.active().len()), (Some(cx.co()), 0));
            // The outer one's active fibre has no turn, however often this one yields.
            (0..10).for_each(|_| cx.yield_now());
            inner.say("inner");
        });
        say.say("after");
    });
    assert_eq!(notes.all(), "inner after outer");
}

#[test]
fn k9_run_returns_when_nothing_runs_or_is_active_and_the_outer_one_goes_on() {
    let ran = run(|cx| {
        let (out, inp) = channel();
        let before = 5;
        let inner = run(move |cx| {
            let hungry = inp.clone();
            cx.spawn(move |cx| -> u32 { hungry.read(cx) });
            inp.read(cx)
        });
        // The end to write to was known here: both waited for it.
        assert_eq!((inner.zombies().len(), inner.result()), (2, None));
        drop(out);
        cx.spawn(move |_| before + 1).join(cx).unwrap()
    });
    assert_eq!(ran.result(), Some(6));
}

#[test]
fn k10_run_nests_ten_deep() {
    fn nested(depth: usize) -> usize {
        run(move |cx| {
            assert_eq!(cx.depth(), 11 - depth);
            let (out, inp) = channel();
            cx.spawn(move |cx| out.write(cx, if depth > 1 { nested(depth - 1) } else { 0 }));
            inp.read(cx) + 1
        })
        .result()
        .unwrap()
    }
    assert_eq!(nested(10), 10);
}

#[test]
fn k11_a_new_channel_is_empty() {
    run(|cx| {
        let (out, inp) = channel::<u32>();
        assert_eq!((out.state(), inp.state()), (State::Empty, State::Empty));
        assert_eq!(cx.look().empty(), [out.object()]);
        assert!(!out.ready() && !inp.ready());
    });
}

#[test]
fn k12_a_read_on_an_empty_channel_makes_both_hungry() {
    run(|cx| {
        let (out, inp) = channel::<u32>();
        let reader = cx.spawn(move |cx| inp.read(cx)).co().unwrap();
        cx.yield_now();
        let look = cx.look();
        assert_eq!(look.hungry(), [(reader, out.object())]);
        assert_eq!((out.state(), look.hungry_channels()), (State::Hungry, vec![out.object()]));
        assert!(look.empty().is_empty() && out.ready());
    });
}

#[test]
fn k13_a_read_on_a_hungry_channel_joins_the_hungry() {
    run(|cx| {
        let (out, inp) = channel::<u32>();
        let readers = [inp.clone(), inp].map(|inp| cx.spawn(move |cx| inp.read(cx)).co().unwrap());
        cx.yield_now();
        assert_eq!(cx.look().hungry(), readers.map(|reader| (reader, out.object())));
        assert_eq!((out.state(), out.waiting_readers().len()), (State::Hungry, 2));
    });
}

#[test]
fn k15_a_write_on_an_empty_channel_blocks_the_writer() {
    run(|cx| {
        let (out, inp) = channel();
        let writer = cx.spawn(move |cx| out.write(cx, 1)).co().unwrap();
        cx.yield_now();
        let look = cx.look();
        assert_eq!(look.blocked(), [(writer, inp.object())]);
        assert_eq!((inp.state(), look.blocked_channels()), (State::Blocked, vec![inp.object()]));
        assert!(inp.ready());
    });
}

#[test]
fn k16_a_write_on_a_blocked_channel_joins_the_blocked() {
    run(|cx| {
        let (out, inp) = channel();
        let writers = [out.clone(), out].map(|out| cx.spawn(move |cx| out.write(cx, 1)));
        cx.yield_now();
        let expected = writers.map(|writer| (writer.co().unwrap(), inp.object()));
        assert_eq!(cx.look().blocked(), expected);
        assert_eq!((inp.state(), inp.waiting_writers().len()), (State::Blocked, 2));
    });
}

#[test]
fn k6_fibres_and_channels_are_listed_by_state() {
    run(|cx| {
        let ((a_out, a_in), (b_out, b_in), (c_out, _c_in)) =
            (channel::<u32>(), channel::<u32>(), channel::<u32>());
        let (a, b, c) = (a_out.object(), b_out.object(), c_out.object());
        let hungry = cx.spawn(move |cx| a_in.read(cx)).co().unwrap();
        let blocked = cx.spawn(move |cx| b_out.write(cx, 1)).co().unwrap();
        cx.yield_now();
        let active = cx.spawn(|_| ()).co().unwrap();
        let look = cx.look();
        assert_eq!((look.running(), look.active()), (Some(cx.co()), vec![active]));
        assert_eq!((look.hungry(), look.blocked()), (vec![(hungry, a)], vec![(blocked, b)]));
        assert_eq!((look.hungry_channels(), look.blocked_channels()), (vec![a], vec![b]));
        assert_eq!((look.empty(), look.channels().len()), (vec![c], 3));
        drop((a_out, b_in));
    });
}

#[test]
fn k3_one_fibre_runs_and_the_others_are_active_hungry_or_blocked() {
    run(|cx| {
        let (out, inp) = channel::<u32>();
        cx.spawn(move |cx| inp.read(cx));
        cx.spawn(|cx| {
            let look = cx.look();
            let of = |state| look.fibres().iter().filter(|(_, other)| *other == state).count();
            assert_eq!((of(FibreState::Running), of(FibreState::Active)), (1, 1));
            assert_eq!((look.hungry().len(), look.fibres().len()), (1, 3));
        });
        cx.yield_now();
        drop(out);
    });
}

#[test]
fn k19_a_fibre_that_suspends_while_none_is_active_ends_its_scheduler_only() {
    let ran = run(|_| {
        let inner = run(|cx| {
            let (_out, inp) = channel::<u32>();
            let _: u32 = inp.read(cx);
            unreachable!("the run that made it has ended");
        });
        (inner.result(), inner_was_a_subroutine())
    });
    assert_eq!(ran.result(), Some((None::<()>, true)));

    fn inner_was_a_subroutine() -> bool {
        depth() == 1
    }
}

#[test]
fn e20_the_outer_program_goes_on_when_an_inner_run_ends() {
    let ran = run(|cx| {
        let inner = run(|cx| {
            let (_, inp) = channel::<()>();
            inp.read(cx)
        });
        assert_eq!(inner.report().removed, 1);
        cx.depth()
    });
    assert_eq!(ran.result(), Some(1));
}

#[test]
fn e19_a_fibre_runs_until_the_scheduler_returns() {
    let ran = run(|cx| {
        assert_eq!(cx.look().running(), Some(cx.co()));
        for _ in 0..3 {
            cx.spawn(|cx| assert_eq!(cx.look().running(), Some(cx.co())));
        }
    });
    assert_eq!((ran.report().returned, ran.report().alive.len()), (4, 0));
}
