//! Random programs on the model and on the real system: each step of the system is one of the model's,
//! and leads to the same configuration.
//!
//! The programs run under exploration: which thread goes on, which coroutine is scheduled and which
//! request is served is drawn by lot, or tried exhaustively; and so is whether a call without a home core that nothing is
//! in the way of is served at once, as it is outside of worlds. With a planted mistake in the system
//! (`LENO_PLANTED=chain`, `keep`, `attach` or `direct`, with `--cfg leno_planted`) these must fail; see `.ci/run`.

use std::sync::{Arc, Mutex};

use crate::support::{Mode, Seen, random_program, run};
use leno_explore::Explorer;
use leno_flexible::Rule;
use leno_flexible::model::Operation::{
    Call, CallWait, Create, Detach, Kick, Passivate, Prod, Resume, Yield,
};
use leno_flexible::model::{Body, Freedom, Program, Target, reach};

/// How many programs are tried; `LENO_PROGRAMS` says otherwise.
fn programs() -> u64 {
    std::env::var("LENO_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000)
}

#[test]
fn f13_random_programs_do_as_the_model_says_and_every_rule_is_applied() {
    random_programs(Mode::Home);
}

#[test]
fn f13_without_a_home_core_random_programs_do_as_the_model_says() {
    random_programs(Mode::Threadless);
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn f13_bodies_that_change_threads_do_as_the_model_says() {
    random_programs(Mode::Migratable);
}

fn random_programs(mode: Mode) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    // What changes threads is the same system as what has no stack: fewer of them.
    let share = if mode == Mode::Migratable { 4 } else { 1 };
    for seed in 0..programs() / share {
        let program = Arc::new(random_program(seed, mode));
        let (own, notes) = (program.clone(), seen.clone());
        let explorer = Explorer::new().random(seed).runs(1).shrinks(0);
        if let Err(failure) = explorer.run(move || run(mode, &own, &notes)) {
            panic!("program {seed}: {program:#?}\n{failure}");
        }
    }
    let seen = seen.lock().unwrap();
    for (rule, _) in Rule::ALL {
        let count = seen.rules.get(&rule).copied().unwrap_or(0);
        println!("{rule:>7}: {count}");
        assert!(count >= 100 / share, "rule {rule} was applied only {count} times");
    }
}

const A: Target = Target::Named(0);
const B: Target = Target::Named(1);

/// Programs small enough to try everything, and how often a thread that could go on is interrupted at most.
fn small_programs() -> Vec<(Program, usize)> {
    let program = |bodies: Vec<Body>, threads: Vec<Vec<_>>| {
        let coroutines = (0..bodies.len()).collect();
        Program { bodies, coroutines, threads }
    };
    let once = vec![
        program(vec![Body::new([Detach])], vec![vec![Call(A)]]),
        program(vec![Body::new([Detach]).spinning(2)], vec![vec![Call(A)], vec![Call(A)]]),
        program(vec![Body::new([Call(B)]), Body::new([Passivate])], vec![vec![Kick(A), Kick(A)]]),
        program(vec![Body::new([Resume(B)]), Body::new([])], vec![vec![Kick(A)], vec![Kick(B)]]),
        program(vec![Body::new([Yield])], vec![vec![Kick(A)], vec![Call(A)]]),
        program(vec![Body::new([Passivate]).attached_only()], vec![vec![Kick(A)], vec![Call(A)]]),
        program(vec![Body::new([Create(0)])], vec![vec![Kick(A)]]),
    ];
    let twice = vec![
        program(vec![Body::new([CallWait(B)]), Body::new([])], vec![vec![Kick(A), Kick(B)]]),
        program(vec![Body::new([Passivate])], vec![vec![Kick(A)], vec![Prod(A)]]),
    ];
    let once = once.into_iter().map(|program| (program, 1));
    once.chain(twice.into_iter().map(|program| (program, 2))).collect()
}

#[test]
fn f64_the_schedules_of_small_programs_reach_what_the_model_reaches_and_nothing_else() {
    small_programs_reach_what_the_model_reaches(Mode::Home);
}

#[test]
fn f64_without_a_home_core_small_programs_reach_what_the_model_reaches_and_nothing_else() {
    small_programs_reach_what_the_model_reaches(Mode::Threadless);
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn f64_bodies_that_change_threads_reach_what_the_model_reaches_and_nothing_else() {
    small_programs_reach_what_the_model_reaches(Mode::Migratable);
}

fn small_programs_reach_what_the_model_reaches(mode: Mode) {
    for (program, interruptions) in small_programs() {
        let seen = Seen { collects: true, ..Seen::default() };
        let (program, seen) = (Arc::new(program), Arc::new(Mutex::new(seen)));
        let (own, notes) = (program.clone(), seen.clone());
        let summary = Explorer::new()
            .exhaustive()
            .most_interruptions(interruptions)
            .run(move || run(mode, &own, &notes));
        let summary = summary.unwrap_or_else(|failure| panic!("{program:#?}\n{failure}"));
        let reached = reach(&program, Freedom::PROMPT, 100_000).unwrap();
        let seen = seen.lock().unwrap();
        println!("{summary}: {} configurations", seen.configurations.len());
        for configuration in &reached.all {
            assert!(seen.configurations.contains(configuration), "not seen: {configuration:#?}");
        }
        assert_eq!(seen.configurations.len(), reached.all.len());
    }
}
