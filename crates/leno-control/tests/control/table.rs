//! The principal types of compositions, state by state.

use leno_control::{ControlType, Wire, compose, pipeline};

fn control(text: &str) -> ControlType {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The composition of stages: its expression, how many states it has, and its transitions.
fn composed(stages: &[&str]) -> (String, usize, String) {
    let stages: Vec<_> = stages.iter().map(|text| control(text)).collect();
    let whole = pipeline(&stages).unwrap();
    let automaton = whole.automaton();
    for state in automaton.states() {
        assert_eq!(state.ends(), state.edges().is_empty(), "the end is where nothing can happen");
    }
    assert_eq!(control(&whole.to_string()), whole, "what is printed is the type");
    (whole.to_string(), automaton.states().len(), automaton.to_string())
}

#[track_caller]
fn row(stages: &[&str], expr: &str, states: usize, transitions: &str) {
    assert_eq!(composed(stages), (expr.to_owned(), states, transitions.to_owned()), "{stages:?}");
}

#[test]
fn k52_two_functions_are_three_states() {
    row(&["(RW)+", "(RW)+"], "(R(RW)*W)+", 3, "0-R->1; 1-R->2, 1-W->0; 2-W->1");
}

#[test]
fn k52_n_functions_count_to_n() {
    row(&["(RW)+"; 3], "(R(R(RW)*W)*W)+", 4, "0-R->1; 1-R->2, 1-W->0; 2-R->3, 2-W->1; 3-W->2");
    for n in 1..=12 {
        let counter: Vec<String> = (0..=n)
            .map(|at| match at {
                0 => "0-R->1".to_owned(),
                at if at == n => format!("{n}-W->{}", n - 1),
                at => format!("{at}-R->{}, {at}-W->{}", at + 1, at - 1),
            })
            .collect();
        let (_, states, transitions) = composed(&vec!["(RW)+"; n]);
        assert_eq!((states, transitions), (n + 1, counter.join("; ")));
    }
}

#[test]
fn k52_one_shots() {
    row(&["RW", "RW"], "RW", 3, "0-R->1; 1-W->2; 2 end");
    row(&["RW", "(RW)+"], "RW", 3, "0-R->1; 1-W->2; 2 end");
    row(&["(RW)+", "RW"], "R(RW|WR)", 5, "0-R->1; 1-R->2, 1-W->3; 2-W->4; 3-R->4; 4 end");
    row(&["W", "(RW)+"], "W", 2, "0-W->1; 1 end");
}

#[test]
fn k52_sources_and_sinks() {
    row(&["W+", "(RW)+"], "W+", 1, "0-W->0");
    row(&["(RW)+", "R+"], "R+", 1, "0-R->0");
}

#[test]
fn k52_partial_functions() {
    let transitions = "0-R->1; 1-R->2, 1-W->0; 2-R->2, 2-W->1";
    row(&["((R+)W)+", "(RW)+"], "(R(R+W)*W)+", 3, transitions);
    row(&["(RW)+", "((R+)W)+"], "(R(R+W)*W)+", 3, transitions);
    row(&["((R+)W)+", "((R+)W)+"], "(R(R+W)*W)+", 3, transitions);
}

#[test]
fn k52_uneven_stages() {
    row(&["(RWW)+", "(RW)+"], "(R(WRW)*WW)+", 4, "0-R->1; 1-W->2; 2-R->3, 2-W->0; 3-W->1");
    let (_, states, transitions) = composed(&["(RRW)+", "(RWW)+"]);
    assert_eq!(states, 8);
    assert_eq!(
        transitions,
        "0-R->1; 1-R->2; 2-R->3, 2-W->4; 3-R->5, 3-W->6; 4-R->6, 4-W->0; 5-W->7; 6-R->7, 6-W->1; 7-W->2"
    );
}

#[test]
fn k52_a_closed_loop_ends_at_once() {
    let (a, b) = (control("R1W2"), control("R2W1"));
    let both = compose(&[&a, &b], &[Wire::new("1", "1"), Wire::new("2", "2")]).unwrap();
    assert_eq!(both.automaton().to_string(), "0 end");
    assert_eq!(both.to_string(), "()");
}
