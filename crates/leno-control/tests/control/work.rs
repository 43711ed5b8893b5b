//! Texts of a few kilobytes take little time and memory, or are refused by a limit that the error names.
//!
//! How long something takes is not measured: that the limit is reached is what ends these tests at all.

use leno_control::{
    ControlType, Event, Grammar, Monitor, TooLarge, compose, fits, fused, pipeline,
};

const REFUSED: &str = "a type that takes more than 8000000 steps of work is not worked out";

fn control(text: &str) -> ControlType {
    text.parse().unwrap()
}

fn refusal(text: &str) -> String {
    text.parse::<ControlType>().unwrap_err().to_string()
}

/// A text of `count` ports, each with a name of its own.
fn ports(count: usize, between: &str) -> String {
    (0..count).map(|n| format!("R{n}")).collect::<Vec<_>>().join(between)
}

#[test]
fn a_short_text_with_large_sets_in_many_states_is_refused() {
    let text = format!("((R|W)*R{})|({})*", "(R|W)".repeat(13), "R?W?".repeat(200));
    assert_eq!((text.len(), refusal(&text).as_str()), (878, REFUSED));
}

#[test]
fn a_short_text_of_nested_repetitions_is_refused_before_it_takes_memory() {
    let mut text = "R?W?".repeat(900);
    for _ in 0..95 {
        text = format!("({text})*R?");
    }
    assert_eq!(refusal(&text), REFUSED);
}

#[test]
fn rules_that_are_each_small_enough_are_refused_together() {
    let rule = |n: usize| format!("<a{n}> = ({})* R", "R?W?".repeat(400));
    let rules: Vec<_> = (0..40).map(rule).collect();
    assert_eq!(rules.join("; ").parse::<Grammar>().unwrap_err().to_string(), REFUSED);
}

#[test]
fn many_calls_of_one_rule_are_looked_at_once() {
    // Each of a thousand calls may follow each other one.
    let text = format!("<t> = ({})* R; <u> = W", "<u>?".repeat(1_000));
    let grammar: Grammar = text.parse().unwrap();
    assert_eq!(grammar.control_type().unwrap(), control("W*R"));
}

#[test]
fn many_states_with_an_event_each_are_told_apart_one_by_one() {
    // Of a table for all states and all events most would be empty; a monitor has it nevertheless.
    let chain = control(&ports(1_900, " "));
    assert_eq!(chain.automaton().states().len(), 1_901);
    let mut monitor = Monitor::new(&chain);
    (0..1_900).for_each(|n| monitor.step(&Event::read(&n.to_string())).unwrap());
    assert!(monitor.may_end());
}

#[test]
fn a_state_with_very_many_events_can_be_printed() {
    let wide = control(&ports(1_500, "|")).simplified();
    assert!(wide.to_string().starts_with("<0> = R0 <1> | R1 <1>"), "{wide}");
}

#[test]
fn a_comparison_keeps_no_traces() {
    // Half a million pairs, the last of which is reached by a trace of as many events.
    let (one, other) = (control(&format!("({})+", "R".repeat(709))), control("R+"));
    assert_eq!(one, other);
    let circle =
        |length: usize| control(&format!("({}W|{}S)+", "R".repeat(length), "R".repeat(length)));
    assert!(circle(700) <= circle(700));
    let turns = |length: usize| control(&format!("({}W?)+", "R".repeat(length)));
    let excess = turns(709).included_in(&turns(701)).unwrap_err();
    assert_eq!((excess.too_large(), excess.trace().0.len()), (None, 710));
}

#[test]
fn a_comparison_that_takes_too_much_work_says_so() {
    // Two counters of different length that agree on everything: as many pairs as the product.
    let text = |length: usize| format!("({}({})*)+", "R?".repeat(length), ports(40, "|"));
    let (one, other) = (text(3), text(4));
    assert!(control(&one) == control(&other));
    let late = |length: usize| format!("(R|W)*R{}", "(R|W)".repeat(length));
    let (smaller, larger) = (control(&late(12)), control(&late(13)));
    let Err(excess) = smaller.included_in(&larger) else { return };
    match excess.too_large() {
        Some(error) => assert!(excess.to_string().ends_with(&error.to_string()), "{excess}"),
        None => assert!(!excess.trace().0.is_empty()),
    }
}

#[test]
fn compositions_are_limited_by_work() {
    // Each part offers ten events, and there are twelve of them: ten to the twelfth choices.
    let part = |n: usize| {
        let ports: Vec<_> = (0..10).map(|port| format!("R{n}x{port}")).collect();
        control(&format!("({})+", ports.join("|")))
    };
    let parts: Vec<ControlType> = (0..12).map(part).collect();
    let parts: Vec<&ControlType> = parts.iter().collect();
    assert_eq!(compose(&parts, &[]).unwrap_err().to_string(), REFUSED);
}

#[test]
fn pipelines_of_large_stages_are_limited_by_work() {
    let stage = control(&format!("(R|W)*R{}", "(R|W)".repeat(11)));
    let large = [stage.clone(), stage.clone()];
    let is_limit = |text: String| text.contains("is not worked out");
    assert!(pipeline(&large).is_err_and(|error| is_limit(error.to_string())));
    assert!(fused(&large).is_err_and(|error| is_limit(error.to_string())));
    assert!(fits(&stage, &stage).is_err_and(|misfit| is_limit(misfit.to_string())));
}

#[test]
fn a_deep_text_is_read_once() {
    // A parser that looks at all members again at each of a hundred levels takes a hundred times as long.
    let text = format!("{}{}{}", "(".repeat(99), "()".repeat(50_000), ")".repeat(99));
    assert_eq!(control(&text), control("()"));
    assert_eq!(TooLarge::MOST_STEPS, 8_000_000);
}

#[test]
fn traces_of_what_ends_are_found_however_long_they_may_be() {
    assert_eq!(control("RW").automaton().traces(usize::MAX).len(), 3);
}
