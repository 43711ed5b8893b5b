//! Everything that can happen to small programs.

use super::super::{
    Answer, Body, Configuration, Effect, Freedom, Operation, Process, Program, Refusal, Step,
    Target, reach,
};
use crate::State::{Idle, Terminated};
use crate::{Label, Rule};
use Operation::{Call, Create, Detach, Kick, Passivate, Resume, Yield};

const A: Target = Target::Named(0);
const B: Target = Target::Named(1);
const C: Target = Target::Named(2);

fn program(bodies: Vec<Body>, threads: Vec<Vec<Operation>>) -> Program {
    Program { coroutines: (0..bodies.len()).collect(), bodies, threads }
}

#[test]
fn f62_the_introductory_example_ends_as_described() {
    // m: call(n), resume(n); n: detach. The thread calls m.
    let m = Body::new([Call(B), Resume(B)]);
    let n = Body::new([Detach]);
    let reached = reach(&program(vec![m, n], vec![vec![Call(A)]]), Freedom::ALL, 1_000).unwrap();
    // E9: m is idle and still attached to the thread, which waits for ever.
    assert_eq!(reached.ends.len(), 1);
    let end = &reached.ends[0];
    assert_eq!(end.states(), [Idle, Terminated]);
    assert_eq!(
        (end.threads[0].calls, end.coroutines[0].caller),
        (Some(0), Some(Process::Thread(0)))
    );
}

#[test]
fn f20_a_caller_waits_until_its_callee_is_no_longer_attached() {
    let bodies = vec![Body::new([Call(B)]), Body::new([Passivate, Detach])];
    let reached = reach(&program(bodies, vec![vec![Kick(A)]]), Freedom::ALL, 1_000).unwrap();
    // The callee passivates and nobody wakes it: its caller stays calling.
    assert!(reached.ends.iter().all(|end| end.coroutines[0].callee == Some(1)));
    let bodies = vec![Body::new([Call(B)]), Body::new([Passivate, Detach])];
    let wake = vec![Kick(A), Kick(A)];
    let reached = reach(&program(bodies, vec![wake]), Freedom::FIRST, 1_000).unwrap();
    assert!(reached.ends.iter().any(|end| end.coroutines[0].state == Terminated));
}

#[test]
fn f33_call_resume_and_kick_chase_chains_of_every_length() {
    for length in 1..=5 {
        // 0 calls 1 calls 2 ..; the last one passivates. Coroutine `length` then operates on 0.
        let mut bodies: Vec<Body> =
            (0..length - 1).map(|n| Body::new([Call(Target::Named(n + 1))])).collect();
        bodies.push(Body::new([Passivate, Detach]));
        for operation in [Call(A), Resume(A), Kick(A)] {
            let mut bodies = bodies.clone();
            bodies.push(Body::new([operation]));
            let threads = vec![vec![Kick(A), Kick(Target::Named(length))]];
            let program = program(bodies, threads);
            let mut c = program.begin();
            run(&program, &mut c, Process::Thread(0));
            settle(&program, &mut c);
            run(&program, &mut c, Process::Thread(0));
            c.take(&program, Step::Schedule(length));
            c.take(&program, Step::Perform(Process::Coroutine(length)));
            assert_eq!(c.queue, [length - 1], "{operation:?} on a chain of {length}");
        }
    }
}

/// A thread's next operation.
fn run(program: &Program, c: &mut Configuration, process: Process) {
    c.take(program, Step::Perform(process));
}

/// Whatever happens without threads.
fn settle(program: &Program, c: &mut Configuration) {
    let own = |step: &Step| !matches!(step, Step::Perform(Process::Thread(_)));
    while let Some(step) = c.steps(program, Freedom::FIRST).into_iter().find(own) {
        c.take(program, step);
    }
}

#[test]
fn f43_a_request_stays_with_the_one_named_when_the_chain_dissolves() {
    let bodies = vec![Body::new([Call(B), Passivate, Yield]), Body::new([Yield, Detach])];
    let program = program(bodies, vec![vec![Kick(A), Kick(A)]]);
    let mut c = program.begin();
    run(&program, &mut c, Process::Thread(0));
    c.take(&program, Step::Schedule(0));
    c.take(&program, Step::Perform(Process::Coroutine(0)));
    run(&program, &mut c, Process::Thread(0));
    assert!(c.has_request(0, Process::Thread(0), Label::Kick), "{c:?}");
    settle(&program, &mut c);
    // The chain has dissolved; a's passivate was followed by the kick that it had kept.
    assert_eq!(c.states(), [Terminated, Idle]);
}

#[test]
fn f46_one_call_is_one_activation() {
    let bodies = vec![Body::new([Detach]).spinning(4)];
    let program = program(bodies, vec![vec![Call(A)], vec![Call(A)]]);
    let reached = reach(&program, Freedom::ALL, 10_000).unwrap();
    for end in &reached.ends {
        assert!(end.threads.iter().all(|thread| thread.calls.is_none()), "{end:?}");
        assert_eq!(end.coroutines[0].place.rounds, 3, "two calls, one spin between them");
    }
}

#[test]
fn f52_each_call_is_answered_with_its_own_parameter() {
    let bodies = vec![Body::new([Yield, Detach]).spinning(4), Body::new([Call(A)])];
    let threads = vec![vec![Call(A)], vec![Kick(B), Call(A)]];
    let program = program(bodies, threads);
    let reached = reach(&program, Freedom::ALL, 100_000).unwrap();
    for end in &reached.ends {
        for (t, at) in [(0, 0), (1, 1)] {
            let own = Program::parameter(Process::Thread(t), at);
            let expected = Answer::Value(Program::answer(0, 1, Some(own)));
            assert_eq!(end.threads[t].place.answer, Some(expected), "{end:?}");
        }
    }
}

#[test]
fn f10_everything_that_five_processes_can_do_checks() {
    let bodies = vec![
        Body::new([Call(B), Kick(C), Detach, Resume(C)]).spinning(1),
        Body::new([Yield, Detach, Kick(A), Yield]).spinning(2),
        Body::new([Yield, Call(B), Detach]).spinning(1).attached_only(),
    ];
    let threads = vec![vec![Call(A), Kick(C)], vec![Kick(A), Call(C), Kick(B)]];
    let program = program(bodies, threads);
    let reached = reach(&program, Freedom::ALL, 1_000_000).unwrap();
    assert!(reached.all.len() > 1_000, "{}", reached.all.len());
    // A system that attaches at once, and one that is fair, do some of what the rules allow.
    let prompt = reach(&program, Freedom::PROMPT, 1_000_000).unwrap();
    let first = reach(&program, Freedom::FIRST, 1_000_000).unwrap();
    assert!(prompt.all.is_subset(&reached.all) && first.all.is_subset(&prompt.all));
}

#[test]
fn f36_all_but_create_and_kick_end_the_turn() {
    for (operation, goes_on) in [
        (Create(0), true),
        (Kick(B), true),
        (Call(B), false),
        (Resume(B), false),
        (Detach, false),
        (Passivate, false),
        (Yield, false),
    ] {
        let program = program(vec![Body::new([operation]), Body::new([])], vec![vec![Kick(A)]]);
        let mut c = program.begin();
        run(&program, &mut c, Process::Thread(0));
        c.take(&program, Step::Schedule(0));
        c.take(&program, Step::Perform(Process::Coroutine(0)));
        assert_eq!(c.active() == Some(0), goes_on, "{operation:?}");
    }
}

#[test]
fn f36_threads_never_interrupt_the_active_coroutine() {
    for operation in [Create(0), Kick(B), Kick(A), Call(A), Call(B)] {
        let bodies = vec![Body::new([Yield]), Body::new([])];
        let program = program(bodies, vec![vec![Kick(A), operation]]);
        let mut c = program.begin();
        run(&program, &mut c, Process::Thread(0));
        c.take(&program, Step::Schedule(0));
        run(&program, &mut c, Process::Thread(0));
        assert_eq!(c.active(), Some(0), "{operation:?}");
        assert!(!c.rule_4_16(1), "nobody is scheduled meanwhile");
    }
}

#[test]
fn f19_cycles_and_busy_ones_are_refused_by_name() {
    let refused = |bodies: Vec<Body>, threads| {
        let program = program(bodies, threads);
        let reached = reach(&program, Freedom::FIRST, 1_000).unwrap();
        reached.ends[0].coroutines.last().unwrap().place.answer
    };
    let cycle = Some(Answer::Refused(Refusal::Cycle));
    assert_eq!(refused(vec![Body::new([Call(A)])], vec![vec![Kick(A)]]), cycle);
    let two = vec![Body::new([Call(B)]), Body::new([Call(A)])];
    assert_eq!(refused(two, vec![vec![Kick(A)]]), cycle);
    let three = vec![Body::new([Call(B)]), Body::new([Call(C)]), Body::new([Call(A)])];
    assert_eq!(refused(three, vec![vec![Kick(A)]]), cycle);
    // F72: one that is not idle.
    let busy = vec![Body::new([]), Body::new([Kick(A), Call(A)])];
    let expected = Some(Answer::Refused(Refusal::Busy));
    assert_eq!(refused(busy, vec![vec![Kick(B)]]), expected);
}

#[test]
fn exactly_one_rule_matches_each_operation() {
    // In everything that can be reached, no operation is matched by two rules.
    let bodies =
        vec![Body::new([Call(B), Kick(A), Detach]), Body::new([Kick(A), Yield, Detach, Passivate])];
    let program = program(bodies, vec![vec![Kick(A), Call(A)], vec![Call(B), Kick(B)]]);
    let reached = reach(&program, Freedom::ALL, 100_000).unwrap();
    let count = |c: &Configuration, rules: &[&dyn Fn(&mut Configuration) -> bool]| {
        rules.iter().filter(|rule| rule(&mut c.clone())).count()
    };
    for c in &reached.all {
        for m in 0..2 {
            if let Some(n) = c.active() {
                let kicks = count(
                    c,
                    &[&|c| c.rule_4_8(n, m), &|c| c.rule_4_8_phi1(n, m), &|c| {
                        c.rule_4_8_phi2(n, m)
                    }],
                );
                let alive = c.coroutines[m].state != Terminated;
                assert_eq!(kicks, usize::from(alive), "{c:?}");
                let ends = count(c, &[&|c| c.rule_4_1(n), &|c| c.rule_4_2(n), &|c| c.rule_4_13(n)]);
                assert_eq!(ends, 1, "{c:?}");
                let detaches =
                    count(c, &[&|c| c.rule_4_5(n, 0), &|c| c.rule_4_6(n), &|c| c.rule_4_14(n, 0)]);
                assert_eq!(detaches, 1, "{c:?}");
            }
        }
        let t = c.threads.iter().position(|thread| thread.calls.is_none());
        let Some(t) = t.filter(|_| c.coroutines[0].state != Terminated) else { continue };
        let calls = count(c, &[&|c| c.rule_4_12_phi1(t, 0, 0), &|c| c.rule_4_12_phi2(t, 0, 0)]);
        let kicks = count(
            c,
            &[&|c| c.rule_4_15(t, 0), &|c| c.rule_4_15_phi1(t, 0), &|c| c.rule_4_15_phi2(t, 0)],
        );
        assert_eq!((calls, kicks), (1, 1), "{c:?}");
    }
}

#[test]
fn threads_may_only_create_call_and_kick() {
    for operation in [Detach, Resume(A), Passivate, Yield] {
        let program = program(vec![Body::new([])], vec![vec![operation]]);
        let mut c = program.begin();
        let effect = c.take(&program, Step::Perform(Process::Thread(0)));
        assert_eq!((effect, c.states()), (Effect::Skipped, vec![Idle]));
    }
}

#[test]
fn a_call_of_a_created_one_and_its_end() {
    let mut program = program(vec![Body::new([])], vec![vec![Create(0), Call(Target::Made)]]);
    program.coroutines.clear();
    let reached = reach(&program, Freedom::ALL, 100).unwrap();
    assert_eq!(reached.rules[&Rule::EndToThread], 1);
    assert_eq!(reached.ends[0].threads[0].place.answer, Some(Answer::Nothing));
}

#[test]
fn f14_a_thread_that_calls_does_nothing_else() {
    let bodies = vec![Body::new([Yield, Detach]).spinning(2)];
    let program = program(bodies, vec![vec![Call(A), Kick(A)], vec![Call(A)]]);
    for c in reach(&program, Freedom::ALL, 100_000).unwrap().all {
        for (t, thread) in c.threads.iter().enumerate() {
            let performs = Step::Perform(Process::Thread(t));
            let may = c.steps(&program, Freedom::ALL).contains(&performs);
            assert!(thread.calls.is_none() || !may, "{c:?}");
        }
    }
}

#[test]
fn f65_forced_and_unforced_scheduling() {
    // Dovland 2006, table 5.4: after these somebody is picked, whoever was active before.
    for operation in [Resume(B), Detach, Yield, Passivate, Call(B)] {
        let bodies = vec![Body::new([operation]), Body::new([]), Body::new([])];
        let program = program(bodies, vec![vec![Kick(A), Kick(C)]]);
        let mut c = program.begin();
        run(&program, &mut c, Process::Thread(0));
        c.take(&program, Step::Schedule(0));
        run(&program, &mut c, Process::Thread(0));
        c.take(&program, Step::Perform(Process::Coroutine(0)));
        assert!(c.steps(&program, Freedom::PROMPT).contains(&Step::Schedule(2)), "{operation:?}");
    }
    // After a kick, and after whatever a thread does, only if nobody is active.
    for (operation, by_thread) in [(Kick(C), true), (Call(C), true), (Kick(C), false)] {
        let own = if by_thread { vec![Yield] } else { vec![operation] };
        let bodies = vec![Body::new(own), Body::new([]), Body::new([])];
        let program = program(bodies, vec![vec![Kick(A), operation], vec![operation]]);
        let mut c = program.begin();
        run(&program, &mut c, Process::Thread(0));
        c.take(&program, Step::Schedule(0));
        match by_thread {
            true => run(&program, &mut c, Process::Thread(1)),
            false => run(&program, &mut c, Process::Coroutine(0)),
        }
        let is_schedule = |step: &Step| matches!(step, Step::Schedule(_));
        assert!(!c.steps(&program, Freedom::PROMPT).iter().any(is_schedule), "{operation:?}");
    }
}
