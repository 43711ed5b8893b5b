//! Each rule alone: what it matches, what it changes, what it leaves.

use super::super::{Answer, Configuration, Process, Refusal, Request};
use super::{idle, nothing};
use crate::Label;
use crate::State::{Active, Calling, Idle, Terminated, Waiting};

const T: Process = Process::Thread(0);
const KICK: Request = Request { from: T, label: Label::Kick, parameter: None };

fn call(t: usize, parameter: u64) -> Request {
    Request { from: Process::Thread(t), label: Label::Call, parameter: Some(parameter) }
}

/// What `rule` makes of it, if it matches; if not, it must not have changed anything.
fn after(
    before: &Configuration,
    rule: impl FnOnce(&mut Configuration) -> bool,
) -> Option<Configuration> {
    let mut after = before.clone();
    match rule(&mut after) {
        true => Some(after.checked()),
        false => {
            assert_eq!(after, *before, "a rule that does not match changes nothing");
            None
        }
    }
}

#[test]
fn f15_rule_4_1_an_end_without_a_caller() {
    let before = idle(2, 0).activate(0);
    assert_eq!(after(&before, |c| c.rule_4_1(0)).unwrap().states(), [Terminated, Idle]);
    assert_eq!(after(&before, |c| c.rule_4_1(1)), None);
    assert_eq!(after(&before, |c| c.rule_4_2(0)), None);
    assert_eq!(after(&before, |c| c.rule_4_13(0)), None);
}

#[test]
fn f16_rule_4_2_an_end_with_a_coroutine_as_caller() {
    let before = idle(2, 0).link(0, 1).activate(1);
    let c = after(&before, |c| c.rule_4_2(1)).unwrap();
    assert_eq!((c.states(), c.coroutines[0].callee), (vec![Waiting, Terminated], None));
    assert_eq!(c.coroutines[0].place.answer, Some(Answer::Nothing));
    assert_eq!(after(&before, |c| c.rule_4_1(1)), None);
}

#[test]
fn f17_rule_4_3_a_coroutine_creates_and_stays_active() {
    let c = after(&idle(1, 0).activate(0), |c| c.rule_4_3(&nothing(1, 0), 0, 0)).unwrap();
    assert_eq!((c.states(), c.coroutines[0].place.made), (vec![Active, Idle], Some(1)));
}

#[test]
fn f18_rule_4_4_links_both_and_wakes_the_bottom() {
    let c = after(&idle(2, 0).activate(0), |c| c.rule_4_4(0, 1, 7)).unwrap();
    assert_eq!(c.states(), [Calling, Waiting]);
    assert_eq!(c.coroutines[0].callee, Some(1));
    assert_eq!(c.coroutines[1].caller, Some(Process::Coroutine(0)));
    // With a chain below m the bottom wakes; the parameter still goes to m (4.4π).
    let c = after(&idle(4, 0).activate(0).link(1, 2).link(2, 3), |c| c.rule_4_4(0, 1, 7)).unwrap();
    assert_eq!(c.states(), [Calling, Calling, Calling, Waiting]);
    assert_eq!((c.coroutines[1].parameter, c.coroutines[3].parameter), (Some(7), None));
    // Not one that is attached, waiting or terminated.
    assert_eq!(after(&idle(2, 1).activate(0).serve(1, 0), |c| c.rule_4_4(0, 1, 7)), None);
    assert_eq!(after(&idle(2, 0).activate(0).waits(1), |c| c.rule_4_4(0, 1, 7)), None);
}

#[test]
fn f19_rule_4_4_refuses_cycles() {
    let own = idle(1, 0).activate(0);
    let two = idle(2, 0).link(0, 1).activate(1);
    let three = idle(3, 0).link(0, 1).link(1, 2).activate(2);
    for (before, n) in [(own, 0), (two, 1), (three, 2)] {
        assert_eq!(after(&before, |c| c.rule_4_4(n, 0, 7)), None);
    }
}

#[test]
fn f21_rule_4_5_detach_from_a_coroutine() {
    let before = idle(2, 0).link(0, 1).activate(1);
    let c = after(&before, |c| c.rule_4_5(1, 9)).unwrap();
    assert_eq!(c.states(), [Waiting, Idle]);
    assert_eq!((c.coroutines[0].callee, c.coroutines[1].caller), (None, None));
    assert_eq!(c.coroutines[0].place.answer, Some(Answer::Value(9)));
    assert_eq!(after(&before, |c| c.rule_4_6(1)), None);
    assert_eq!(after(&before, |c| c.rule_4_14(1, 9)), None);
}

#[test]
fn f22_rule_4_6_detach_without_a_caller() {
    let before = idle(1, 0).activate(0);
    assert_eq!(after(&before, |c| c.rule_4_6(0)), after(&before, |c| c.rule_4_9(0)));
    assert_eq!(after(&before, |c| c.rule_4_5(0, 9)), None);
}

#[test]
fn f23_rule_4_7_resume_keeps_the_performers_caller() {
    let before = idle(5, 1).activate(0).serve(0, 0).link(1, 2).link(2, 3);
    let c = after(&before, |c| c.rule_4_7(0, 1)).unwrap();
    assert_eq!(c.states(), [Idle, Calling, Calling, Waiting, Idle]);
    assert_eq!(c.coroutines[0].caller, Some(T));
    // One that is attached may be resumed; one that runs, waits or has ended may not.
    assert!(after(&before, |c| c.rule_4_7(0, 3)).is_some());
    assert_eq!(after(&before, |c| c.rule_4_7(0, 0)), None);
    assert_eq!(after(&before.clone().waits(4), |c| c.rule_4_7(0, 4)), None);
}

#[test]
fn f24_rule_4_8_a_coroutine_kicks_and_stays_active() {
    let before = idle(3, 0).activate(0).link(1, 2);
    let c = after(&before, |c| c.rule_4_8(0, 1)).unwrap();
    assert_eq!(c.states(), [Active, Calling, Waiting]);
    assert!(c.coroutines[1].requests.is_empty());
}

#[test]
fn e2_rule_4_8_phi_a_coroutines_kick_on_a_busy_one_is_queued_on_the_one_named() {
    let kick = Request { from: Process::Coroutine(2), label: Label::Kick, parameter: None };
    let active = idle(3, 0).link(1, 2).activate(2);
    let c = after(&active, |c| c.rule_4_8_phi1(2, 1)).unwrap();
    assert_eq!((c.states(), &*c.coroutines[1].requests), (active.states(), &[kick][..]));
    let waiting = idle(3, 0).link(0, 1).waits(1).activate(2);
    let c = after(&waiting, |c| c.rule_4_8_phi2(2, 0)).unwrap();
    assert_eq!((c.states(), &*c.coroutines[0].requests), (waiting.states(), &[kick][..]));
}

#[test]
fn f25_rule_4_9_passivate_keeps_the_caller() {
    let c = after(&idle(2, 0).link(0, 1).activate(1), |c| c.rule_4_9(1)).unwrap();
    assert_eq!(c.states(), [Calling, Idle]);
    assert_eq!(c.coroutines[1].caller, Some(Process::Coroutine(0)));
}

#[test]
fn f26_rule_4_10_yield_waits_behind_the_others() {
    let c = after(&idle(2, 0).waits(1).activate(0), |c| c.rule_4_10(0)).unwrap();
    assert_eq!((c.states(), c.queue), (vec![Waiting, Waiting], vec![1, 0]));
}

#[test]
fn f27_rule_4_11_a_thread_creates_as_a_coroutine_does() {
    let c = after(&idle(1, 1), |c| c.rule_4_11(&nothing(1, 1), 0, 0)).unwrap();
    assert_eq!((c.states(), c.threads[0].place.made), (vec![Idle, Idle], Some(1)));
    let by_coroutine = after(&idle(1, 1).activate(0), |c| c.rule_4_3(&nothing(1, 1), 0, 0));
    assert_eq!(by_coroutine.unwrap().coroutines[1], c.coroutines[1]);
}

#[test]
fn f28_rule_4_12_is_phi2_and_4_17_in_one() {
    let c = after(&idle(1, 1), |c| c.rule_4_12(0, 0, 5)).unwrap();
    let both = after(&idle(1, 1), |c| c.rule_4_12_phi2(0, 0, 5) && c.rule_4_17(0, 0)).unwrap();
    assert_eq!(c, both);
    assert_eq!((c.states(), c.threads[0].calls), (vec![Waiting], Some(0)));
    assert_eq!((c.coroutines[0].caller, c.coroutines[0].parameter), (Some(T), Some(5)));
}

#[test]
fn f45_rule_4_12_phi1_queues_and_wakes_the_idle_bottom() {
    let chain = idle(2, 2).link(0, 1);
    let c = after(&chain, |c| c.rule_4_12_phi1(0, 0, 5)).unwrap();
    assert_eq!(c.states(), [Calling, Waiting]);
    assert_eq!(*c.coroutines[0].requests, [call(0, 5)]);
    // A second one finds the bottom waiting, and only queues.
    let c = after(&c, |c| c.rule_4_12_phi1(1, 0, 6)).unwrap();
    assert_eq!((c.states(), c.queue), (vec![Calling, Waiting], vec![1]));
    assert_eq!(after(&chain, |c| c.rule_4_12_phi2(0, 0, 5)), None);
}

#[test]
fn f46_rule_4_12_phi2_queues_only() {
    for before in [idle(1, 1), idle(1, 1).waits(0), idle(1, 1).activate(0), idle(1, 2).serve(0, 1)]
    {
        let c = after(&before, |c| c.rule_4_12_phi2(0, 0, 5)).unwrap();
        assert_eq!((c.states(), &*c.coroutines[0].requests), (before.states(), &[call(0, 5)][..]));
        assert_eq!(after(&before, |c| c.rule_4_12_phi1(0, 0, 5)), None);
    }
}

#[test]
fn f29_rule_4_13_an_end_releases_a_thread() {
    let before = idle(1, 1).serve(0, 0).activate(0);
    let c = after(&before, |c| c.rule_4_13(0)).unwrap();
    assert_eq!((c.states(), c.threads[0].calls), (vec![Terminated], None));
    assert_eq!(c.threads[0].place.answer, Some(Answer::Nothing));
    assert_eq!(after(&before, |c| c.rule_4_1(0)), None);
}

#[test]
fn f30_rule_4_14_detach_from_a_thread() {
    let c = after(&idle(1, 1).serve(0, 0).activate(0), |c| c.rule_4_14(0, 9)).unwrap();
    assert_eq!((c.states(), c.threads[0].calls), (vec![Idle], None));
    assert_eq!(c.coroutines[0].caller, None);
    assert_eq!(c.threads[0].place.answer, Some(Answer::Value(9)));
}

#[test]
fn f31_rule_4_15_a_threads_kick_does_not_block_it() {
    let c = after(&idle(2, 1).link(0, 1), |c| c.rule_4_15(0, 0)).unwrap();
    assert_eq!((c.states(), c.threads[0].calls), (vec![Calling, Waiting], None));
}

#[test]
fn f41_rule_4_15_phi1_a_kick_while_the_bottom_is_active() {
    let before = idle(2, 1).link(0, 1).activate(1);
    let c = after(&before, |c| c.rule_4_15_phi1(0, 0)).unwrap();
    assert_eq!((c.states(), &*c.coroutines[0].requests), (before.states(), &[KICK][..]));
    assert_eq!(after(&before, |c| c.rule_4_15(0, 0)), None);
    assert_eq!(after(&before, |c| c.rule_4_15_phi2(0, 0)), None);
}

#[test]
fn f42_rule_4_15_phi2_a_kick_while_the_bottom_is_waiting() {
    let before = idle(2, 1).link(0, 1).waits(1);
    let c = after(&before, |c| c.rule_4_15_phi2(0, 0)).unwrap();
    assert_eq!((c.states(), &*c.coroutines[0].requests), (before.states(), &[KICK][..]));
    assert_eq!(after(&before, |c| c.rule_4_15(0, 0)), None);
}

#[test]
fn f44_k_wakes_an_idle_bottom_and_is_the_identity_else() {
    let chain = || idle(3, 0).link(0, 1).link(1, 2);
    let woken = |before: Configuration| after(&before, |c| (c.meta_k(0), true).1).unwrap();
    assert_eq!(woken(chain()), chain().waits(2));
    assert_eq!(woken(chain().waits(2)), chain().waits(2));
    assert_eq!(woken(chain().activate(2)), chain().activate(2));
}

#[test]
fn f35_rule_4_16_only_while_nobody_is_active() {
    let c = after(&idle(2, 0).waits(0).waits(1), |c| c.rule_4_16(1)).unwrap();
    assert_eq!((c.states(), c.queue), (vec![Waiting, Active], vec![0]));
    assert_eq!(after(&idle(2, 0).activate(0).waits(1), |c| c.rule_4_16(1)), None);
    assert_eq!(after(&idle(1, 0), |c| c.rule_4_16(0)), None);
}

#[test]
fn f58_f_activates_an_attached_only_coroutine_only_with_a_caller() {
    let attached_only = |mut c: Configuration| {
        c.coroutines[1].attached_only = true;
        c
    };
    let alone = attached_only(idle(2, 1).waits(1));
    assert_eq!(after(&alone, |c| c.rule_4_16(1)).unwrap().states(), [Idle, Idle]);
    let to_thread = attached_only(idle(2, 1).serve(1, 0).waits(1));
    assert_eq!(after(&to_thread, |c| c.rule_4_16(1)).unwrap().states(), [Idle, Active]);
    let in_chain = attached_only(idle(2, 1).link(0, 1).waits(1));
    assert_eq!(after(&in_chain, |c| c.rule_4_16(1)).unwrap().states(), [Calling, Active]);
}

#[test]
fn f47_rule_4_17_attaches_a_pending_call() {
    let mut before = idle(1, 1);
    before.coroutines[0].requests = vec![KICK, call(0, 5)];
    before.threads[0].calls = Some(0);
    let c = after(&before, |c| c.rule_4_17(0, 1)).unwrap();
    assert_eq!((c.states(), c.coroutines[0].caller), (vec![Waiting], Some(T)));
    assert_eq!((c.coroutines[0].parameter, &*c.coroutines[0].requests), (Some(5), &[KICK][..]));
    assert_eq!(after(&before, |c| c.rule_4_17(0, 0)), None);
    // Only one that is idle and has neither caller nor callee.
    let mut busy = idle(2, 2).serve(0, 1);
    busy.coroutines[0].requests = vec![call(0, 5)];
    assert_eq!(after(&busy, |c| c.rule_4_17(0, 0)), None);
}

#[test]
fn f48_rule_4_18_serves_a_pending_kick_attached_to_nobody() {
    let mut before = idle(1, 1);
    before.coroutines[0].requests = vec![KICK];
    let c = after(&before, |c| c.rule_4_18(0, 0)).unwrap();
    assert_eq!((c.states(), c.coroutines[0].caller), (vec![Waiting], None));
    assert_eq!(after(&before, |c| c.rule_4_17(0, 0)), None);
    // E12: not while it is attached, though idle.
    let mut attached = idle(1, 1).serve(0, 0);
    attached.coroutines[0].requests = vec![KICK];
    assert_eq!(after(&attached, |c| c.rule_4_18(0, 0)), None);
}

#[test]
fn e3_a_spinning_body_begins_again_and_stays_active() {
    let mut before = idle(1, 1).serve(0, 0).activate(0);
    before.coroutines[0].place.rounds = 1;
    let c = after(&before, |c| c.rule_spin(0)).unwrap();
    assert_eq!((c.states(), c.coroutines[0].caller), (vec![Active], Some(T)));
}

#[test]
fn requests_left_at_the_end_are_dismissed() {
    let mut before = idle(1, 1).activate(0);
    before.coroutines[0].requests = vec![KICK, call(0, 5)];
    before.threads[0].calls = Some(0);
    let c = after(&before, |c| c.rule_4_1(0)).unwrap();
    assert_eq!(c.threads[0].calls, None);
    assert_eq!(c.threads[0].place.answer, Some(Answer::Refused(Refusal::Terminated)));
}
