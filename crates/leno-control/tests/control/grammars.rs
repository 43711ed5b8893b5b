//! Types that are not regular, and grammars that are.

use std::collections::BTreeSet;

use crate::generate::{Meaning, expr, meaning, meaning_of_rules};
use crate::lots::Lots;
use leno_control::{ControlType, Event, Expr, Grammar, GrammarError, Monitor};

fn grammar(text: &str) -> Grammar {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn event(text: &str) -> Event {
    text.parse().unwrap()
}

/// What a monitor allows in at most `most` events.
fn allowed(start: &Monitor, most: usize) -> Meaning {
    let (mut traces, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = vec![(start.clone(), Vec::new())];
    while let Some((monitor, trace)) = waiting.pop() {
        traces.insert(trace.clone());
        if monitor.end().is_ok() {
            ends.insert(trace.clone());
        }
        for event in monitor.allowed().into_iter().filter(|_| trace.len() < most) {
            let mut next = monitor.clone();
            next.step(&event).unwrap();
            waiting.push((next, [trace.as_slice(), &[event]].concat()));
        }
    }
    (traces, ends)
}

#[test]
fn k45_grammars_are_read_and_printed() {
    let same = [
        "<t> = R <t>? W",
        "<t> = RW",
        "<a> = Rin <b>+ | S; <b> = (Wout <a>)*",
        "<list> = R (<item> W)* ; <item> = ()",
    ];
    for text in same {
        let tidy = text.replace(" ;", ";");
        assert_eq!(grammar(text).to_string(), tidy);
        assert_eq!(grammar(&tidy), grammar(text));
        assert_eq!(grammar(&format!(" {tidy} ;\n")), grammar(text));
    }
    let mut lots = Lots::new(21);
    for _ in 0..500 {
        let random = random(&mut lots, 3);
        assert_eq!(grammar(&random.to_string()), random);
    }
}

#[test]
fn k45_what_is_no_grammar_is_refused() {
    let wrong = [
        ("", "expected a rule, which begins with `<` at column 1 of ``, found the end"),
        ("RW", "expected a rule, which begins with `<` at column 1 of `RW`, found `R`"),
        ("<t> R", "expected `=` at column 5 of `<t> R`, found `R`"),
        ("<t = R", "expected `>` at column 4 of `<t = R`, found `=`"),
        (
            "<t> =",
            "expected an event (`R`, `W` or `S`), `(` or `<` at column 6 of `<t> =`, found the end",
        ),
        (
            "<T> = R",
            "expected the name of a rule, in lower-case letters, digits and `_` at column 2 of `<T> = R`, \
             found `T`",
        ),
        (
            "<t> = R <t> = W",
            "expected an event, `(`, a rule, `+`, `*`, `?`, `|`, `;` or the end at column 13 of \
             `<t> = R <t> = W`, found `=`",
        ),
        ("<t> = R; <t> = W", "two rules are called <t>"),
        ("<t> = R <u>", "there is no rule <u>"),
    ];
    for (text, message) in wrong {
        assert_eq!(text.parse::<Grammar>().unwrap_err().to_string(), message);
    }
    assert_eq!(Grammar::new(Vec::new()), Err(GrammarError::NoRule));
    let name = Grammar::new(vec![("A".to_owned(), Expr::Nothing)]).unwrap_err();
    assert_eq!(
        name.to_string(),
        "no rule can be called `A`: names are of lower-case letters, digits and `_`"
    );
}

#[test]
fn k45_a_regular_grammar_is_a_control_type() {
    let regular = [
        ("<t> = RW <t>", "(RW)+"),
        ("<t> = RW <t> | ()", "(RW)*"),
        ("<t> = RW", "RW"),
        ("<t> = R <u>; <u> = R <u> | W <t>", "(R+W)+"),
        ("<t> = <pair> <pair>; <pair> = RW", "RWRW"),
        ("<t> = <many> W; <many> = R+", "R+W"),
        ("<t> = W <many>; <many> = R+", "WR+"),
        ("<t> = <t>", "()+"),
        ("<t> = R <t>", "R+"),
    ];
    for (text, control) in regular {
        let found = grammar(text).control_type().unwrap();
        assert_eq!(found, control.parse().unwrap(), "{text}: {found}");
        assert_eq!(found.to_string(), control);
    }
    for (text, rule) in [("<t> = R <t>? W", "t"), ("<a> = S <b>; <b> = R <c> W; <c> = <b>?", "b")] {
        let error = grammar(text).control_type().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("rule <{rule}> comes back to itself before its end, so it is not regular")
        );
    }
}

#[test]
fn k45_a_fibre_is_held_against_a_grammar() {
    let mut monitor = Monitor::of_grammar(&grammar("<t> = R <t>? W"));
    assert_eq!(monitor.place(), ".<t> = R <t>? W");
    for _ in 0..1_000 {
        monitor.step(&event("R")).unwrap();
        assert!(!monitor.may_end());
    }
    assert_eq!(monitor.place(), "<t> = R. <t>? W");
    assert_eq!(
        monitor.end().unwrap_err().to_string(),
        "`<t> = R <t>? W` does not allow to end after 1000 events: after R at column 7 it allows R at \
         column 7 or W at column 14"
    );
    for left in (0..1_000).rev() {
        monitor.step(&event("W")).unwrap();
        assert!(monitor.step(&event("R")).is_err());
        assert_eq!(monitor.may_end(), left == 0);
    }
    assert_eq!(
        monitor.step(&event("W")).unwrap_err().to_string(),
        "`<t> = R <t>? W` does not allow W as event 2001: after W at column 14 it allows the end"
    );
    assert_eq!(monitor.step(&event("S")).unwrap_err().steps(), 2_000);
}

#[test]
fn k45_grammars_that_leave_much_open_are_followed() {
    // Each read may or may not be answered, by either of two writes: very many stacks.
    let mut monitor = Monitor::of_grammar(&grammar("<t> = R <t>? (W1|W2|())"));
    for _ in 0..60 {
        monitor.step(&event("R")).unwrap();
    }
    for n in 0..60 {
        monitor.step(&event(["W1", "W2"][n % 2])).unwrap();
        assert!(monitor.may_end());
    }
    assert!(monitor.step(&event("W1")).is_err(), "more writes than reads");
    // A rule that begins with itself.
    let mut monitor = Monitor::of_grammar(&grammar("<t> = <t> <t> W | R"));
    for step in ["R", "R", "W", "R", "W"] {
        assert!(monitor.step(&event("S")).is_err());
        monitor.step(&event(step)).unwrap();
    }
    assert!(monitor.may_end() && monitor.step(&event("W")).is_err());
}

#[test]
fn k45_an_endless_run_needs_no_more_and_more_memory() {
    // What is nested is always closed again.
    let mut monitor = Monitor::of_grammar(&grammar("<t> = (S <u> S)+; <u> = R <u>? W"));
    let most = (0..3_000)
        .map(|_| {
            for step in ["S", "R", "R", "W", "W", "S"] {
                monitor.step(&event(step)).unwrap();
            }
            format!("{monitor:?}").len()
        })
        .max();
    assert!(most.unwrap() < 40_000, "{most:?}");
}

/// A grammar of `count` random rules.
fn random(lots: &mut Lots, count: usize) -> Grammar {
    let events = [event("R"), event("W")];
    let names: Vec<String> = (0..count).map(|n| format!("r{n}")).collect();
    let rule = |name: &String, lots: &mut Lots| {
        let body = expr(lots, 5, &events);
        (name.clone(), with_calls(&body, &names, lots))
    };
    let rules = names.iter().map(|name| rule(name, lots)).collect();
    Grammar::new(rules).unwrap()
}

/// The expression with calls in the place of some events.
fn with_calls(expr: &Expr, names: &[String], lots: &mut Lots) -> Expr {
    let mut all = |items: &[Expr]| items.iter().map(|i| with_calls(i, names, lots)).collect();
    match expr {
        Expr::Seq(items) => Expr::Seq(all(items)),
        Expr::Either(items) => Expr::Either(all(items)),
        Expr::Plus(inner) => Expr::Plus(Box::new(with_calls(inner, names, lots))),
        Expr::Star(inner) => Expr::Star(Box::new(with_calls(inner, names, lots))),
        Expr::Maybe(inner) => Expr::Maybe(Box::new(with_calls(inner, names, lots))),
        Expr::Event(_) if lots.below(3) == 0 => Expr::Rule(names[lots.below(names.len())].clone()),
        leaf => leaf.clone(),
    }
}

#[test]
fn k45_monitors_allow_what_grammars_mean() {
    let mut lots = Lots::new(22);
    let mut regular = 0;
    for n in 0..300 {
        let grammar = random(&mut lots, 1 + n % 3);
        let meant = meaning_of_rules(&grammar, 4);
        assert_eq!(allowed(&Monitor::of_grammar(&grammar), 4), meant, "{grammar}");
        if let Ok(control) = grammar.control_type() {
            regular += 1;
            assert_eq!(allowed(&Monitor::new(&control), 4), meant, "{grammar}: {control}");
        }
    }
    assert!((50..250).contains(&regular), "{regular} of 300 are regular");
}

#[test]
fn k46_monitors_allow_what_types_mean() {
    let mut lots = Lots::new(23);
    let events = ["R", "W", "R1"].map(event);
    for n in 0..300 {
        let expr = expr(&mut lots, 1 + n % 7, &events);
        let control = ControlType::new(expr.clone()).unwrap();
        assert_eq!(allowed(&Monitor::new(&control), 5), meaning(&expr, 5), "{expr}");
    }
}
