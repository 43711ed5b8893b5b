//! Laws that hold for all types, tried on many random ones.
//!
//! Each failure names the types, and a test always tries the same ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::generate::{expr, meaning};
use crate::lots::Lots;
use leno_control::{
    Automaton, ControlType, Event, Expr, Grammar, Monitor, Wire, compose, fits, fits_over, fused,
    pipeline,
};

/// Small alphabets make states meet.
fn events() -> Vec<Event> {
    ["R", "W", "R1", "S"].map(|text| text.parse().unwrap()).to_vec()
}

fn random(lots: &mut Lots, size: usize, events: &[Event]) -> ControlType {
    ControlType::new(expr(lots, size, events)).unwrap()
}

/// A stage of a pipeline: one port on each side.
fn stage(lots: &mut Lots) -> ControlType {
    random(lots, 5, &events()[..2])
}

/// The traces of at most `most` events, and those after which it may end.
fn shown(automaton: &Automaton, most: usize) -> (BTreeSet<Vec<Event>>, BTreeSet<Vec<Event>>) {
    let traces: BTreeSet<_> = automaton.traces(most).into_iter().map(|trace| trace.0).collect();
    let ends = |trace: &&Vec<Event>| automaton.states()[automaton.run(trace).unwrap()].ends();
    let ends = traces.iter().filter(ends).cloned().collect();
    (traces, ends)
}

/// What can happen from that state on in at most `most` events; an end is a last `None`.
fn from(automaton: &Automaton, state: usize, most: usize) -> BTreeSet<Vec<Option<Event>>> {
    let state = &automaton.states()[state];
    let mut all = BTreeSet::from([Vec::new()]);
    if state.ends() {
        all.insert(vec![None]);
    }
    for (event, to) in state.edges().iter().filter(|_| most > 0) {
        for rest in from(automaton, *to, most - 1) {
            all.insert([vec![Some(event.clone())], rest].concat());
        }
    }
    all
}

#[test]
fn k45_what_is_printed_is_read_as_the_same() {
    let mut lots = Lots::new(1);
    let named: Vec<Event> = ["Rin", "Wout", "R2", "S"].map(|text| text.parse().unwrap()).to_vec();
    for n in 0..2_000 {
        let expr = expr(&mut lots, 1 + n % 12, &[events(), named.clone()][n % 2]);
        let text = expr.to_string();
        let control: ControlType = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(control.expr(), Some(&expr), "{text}");
    }
}

#[test]
fn automata_show_what_expressions_mean() {
    let mut lots = Lots::new(2);
    for n in 0..500 {
        let expr = expr(&mut lots, 1 + n % 7, &events());
        let control = ControlType::new(expr.clone()).unwrap();
        assert_eq!(shown(control.automaton(), 5), meaning(&expr, 5), "{expr}");
    }
}

#[test]
fn automata_are_minimal_and_equal_if_the_words_are() {
    let mut lots = Lots::new(3);
    let mut known: BTreeMap<_, ControlType> = BTreeMap::new();
    for _ in 0..400 {
        let control = random(&mut lots, 4, &events()[..2]);
        let states = control.automaton().states().len();
        assert!(states <= 5, "{control}: no more states than events and a first one");
        let ways: BTreeSet<_> = (0..states).map(|at| from(control.automaton(), at, 5)).collect();
        assert_eq!(ways.len(), states, "{control}: no two states go on alike");
        // Automata of at most 5 states that differ, do so within 8 events.
        let words = shown(control.automaton(), 8);
        match known.get(&words) {
            Some(other) => assert_eq!(control.automaton(), other.automaton(), "{control} {other}"),
            None => {
                for other in known.values() {
                    assert_ne!(control.automaton(), other.automaton(), "{control} {other}");
                }
                known.insert(words, control);
            }
        }
    }
    assert!(known.len() > 50, "they are not all the same: {}", known.len());
}

#[test]
fn simplified_types_are_the_same_type() {
    let mut lots = Lots::new(4);
    for n in 0..1_000 {
        let control = random(&mut lots, 1 + n % 10, &events());
        let text = control.simplified().to_string();
        let again: ControlType = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.automaton(), control.automaton(), "{control} as {text}");
    }
}

#[test]
fn inclusion_is_a_partial_order_and_says_what_is_too_much() {
    let mut lots = Lots::new(5);
    let some: Vec<_> = (0..40).map(|_| random(&mut lots, 4, &events()[..2])).collect();
    let words: Vec<_> = some.iter().map(|control| shown(control.automaton(), 8)).collect();
    for (a, a_words) in some.iter().zip(&words) {
        assert!(a <= a);
        for (b, b_words) in some.iter().zip(&words) {
            let included = a.included_in(b);
            let expected = a_words.0.is_subset(&b_words.0) && a_words.1.is_subset(&b_words.1);
            assert_eq!(included.is_ok(), expected, "{a} in {b}");
            assert_eq!(a <= b && b <= a, a == b, "{a} and {b}");
            if let Err(excess) = included {
                let trace = excess.trace().events().to_vec();
                let of = |words: &(BTreeSet<_>, BTreeSet<_>)| {
                    if excess.is_end() {
                        words.1.contains(&trace)
                    } else {
                        words.0.contains(&trace)
                    }
                };
                assert!(of(a_words) && !of(b_words), "{excess}");
            }
            for c in some.iter().filter(|c| a <= b && b <= *c) {
                assert!(a <= c, "{a} in {b} in {c}");
            }
        }
    }
}

#[test]
fn k50_pipelines_are_associative() {
    let mut lots = Lots::new(6);
    for _ in 0..400 {
        let [a, b, c] = [stage(&mut lots), stage(&mut lots), stage(&mut lots)];
        let left = a.then(&b).unwrap().then(&c).unwrap();
        let right = a.then(&b.then(&c).unwrap()).unwrap();
        assert_eq!(left.automaton(), right.automaton(), "{a} . {b} . {c}: {left} or {right}");
        assert_eq!(left.to_string(), right.to_string());
        // All at once, over two wires.
        let port = |control: &ControlType, read: &str, write: &str| {
            let expr = control.to_string();
            let expr = expr.replace('R', &format!("R{read}")).replace('W', &format!("W{write}"));
            expr.parse::<ControlType>().unwrap()
        };
        let parts = [port(&a, "", "1"), port(&b, "1", "2"), port(&c, "2", "")];
        let wires = [Wire::new("1", "1"), Wire::new("2", "2")];
        let at_once = compose(&parts.each_ref(), &wires).unwrap();
        assert_eq!(at_once, left, "{a} . {b} . {c}");
        assert_eq!(pipeline(&[a, b, c]).unwrap(), left);
    }
}

#[test]
fn composing_grows_with_what_is_composed() {
    let mut lots = Lots::new(7);
    let mut compared = 0;
    for _ in 0..200 {
        let [a, b, c] = [stage(&mut lots), stage(&mut lots), stage(&mut lots)];
        let traces = |x: &ControlType, y: &ControlType| shown(x.then(y).unwrap().automaton(), 4).0;
        if a <= b {
            compared += 1;
            assert!(traces(&a, &c).is_subset(&traces(&b, &c)), "{a} in {b}, then {c}");
            assert!(traces(&c, &a).is_subset(&traces(&c, &b)), "{c}, then {a} in {b}");
        }
    }
    assert!(compared > 10, "{compared}");
}

/// What two stages show in at most `most` visible events, by following them step by step.
fn followed(a: &ControlType, b: &ControlType, most: usize) -> BTreeSet<Vec<Event>> {
    let (a, b) = (a.automaton().states(), b.automaton().states());
    let (read, write) = (Event::read(""), Event::write(""));
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(0, 0, Vec::new())];
    while let Some(node) = waiting.pop() {
        if !seen.insert(node.clone()) {
            continue;
        }
        let (left, right, trace) = node;
        let with = |event: &Event| [trace.as_slice(), std::slice::from_ref(event)].concat();
        if let (Some(left), Some(right)) = (a[left].after(&write), b[right].after(&read)) {
            waiting.push((left, right, trace.clone()));
        }
        if trace.len() < most {
            waiting.extend(a[left].after(&read).map(|left| (left, right, with(&read))));
            waiting.extend(b[right].after(&write).map(|right| (left, right, with(&write))));
        }
    }
    seen.into_iter().map(|node| node.2).collect()
}

#[test]
fn k52_a_principal_type_has_the_traces_of_all_schedules_and_no_others() {
    let mut lots = Lots::new(8);
    for _ in 0..400 {
        let (a, b) = (stage(&mut lots), stage(&mut lots));
        let whole = a.then(&b).unwrap();
        assert_eq!(shown(whole.automaton(), 5).0, followed(&a, &b, 5), "{a} . {b}");
    }
}

/// What two stages show as one fibre in at most `most` events, and after what they may be stuck: by
/// following them step by step, the second one first.
fn followed_as_one(a: &ControlType, b: &ControlType, most: usize) -> (Traces, Traces) {
    /// What the second one does: it may decide, it waits to read, it takes nothing any more.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Mode {
        Decides,
        Waits,
        Gone,
    }
    let (a, b) = (a.automaton().states(), b.automaton().states());
    let (read, write) = (Event::read(""), Event::write(""));
    let (mut seen, mut ends) = (BTreeSet::new(), Traces::new());
    let mut waiting = vec![(0, 0, Mode::Decides, Vec::new())];
    while let Some(node) = waiting.pop() {
        if !seen.insert(node.clone()) {
            continue;
        }
        let (left, right, mode, trace) = node;
        let with = |event: &Event| [trace.as_slice(), std::slice::from_ref(event)].concat();
        let has_room = trace.len() < most;
        if mode == Mode::Decides {
            if b[right].ends() {
                waiting.push((left, right, Mode::Gone, trace.clone()));
            }
            if b[right].after(&read).is_some() {
                waiting.push((left, right, Mode::Waits, trace.clone()));
            }
            if let Some(to) = b[right].after(&write).filter(|_| has_room) {
                waiting.push((left, to, Mode::Decides, with(&write)));
            }
            continue;
        }
        if a[left].ends() || mode == Mode::Gone && a[left].after(&write).is_some() {
            ends.insert(trace.clone());
        }
        if let (Some(left), Mode::Waits) = (a[left].after(&write), mode) {
            waiting.push((left, b[right].after(&read).unwrap(), Mode::Decides, trace.clone()));
        }
        if let Some(to) = a[left].after(&read).filter(|_| has_room) {
            waiting.push((to, right, mode, with(&read)));
        }
    }
    (seen.into_iter().map(|node| node.3).collect(), ends)
}

type Traces = BTreeSet<Vec<Event>>;

#[test]
fn k54_stages_as_one_fibre_show_one_of_the_schedules() {
    let mut lots = Lots::new(12);
    let (mut smaller, mut equal) = (0, 0);
    for _ in 0..400 {
        let (a, b) = (stage(&mut lots), stage(&mut lots));
        let stages = [a.clone(), b.clone()];
        let (one, principal) = (fused(&stages).unwrap(), pipeline(&stages).unwrap());
        one.included_in(&principal).unwrap_or_else(|excess| panic!("{a} . {b}: {excess}"));
        assert_eq!(shown(one.automaton(), 5), followed_as_one(&a, &b, 5), "{a} . {b}");
        if one == principal { equal += 1 } else { smaller += 1 }
    }
    assert!(smaller > 50 && equal > 50, "{smaller} smaller, {equal} equal");
}

#[test]
fn k54_many_stages_as_one_fibre_show_one_of_the_schedules() {
    let mut lots = Lots::new(13);
    for n in 0..300 {
        let stages: Vec<_> = (0..3 + n % 2).map(|_| stage(&mut lots)).collect();
        let (one, principal) = (fused(&stages).unwrap(), pipeline(&stages).unwrap());
        one.included_in(&principal).unwrap_or_else(|excess| panic!("{stages:?}: {excess}"));
    }
}

#[test]
fn the_same_over_names_or_in_a_line() {
    let mut lots = Lots::new(9);
    for _ in 0..200 {
        let (a, b) = (stage(&mut lots), stage(&mut lots));
        let left = a.renamed(|_| "a".to_owned()).unwrap();
        let right = b.renamed(|_| "b".to_owned()).unwrap();
        let both = compose(&[&left, &right], &[Wire::new("a", "b")]).unwrap();
        let both = both.renamed(|_| String::new()).unwrap();
        assert_eq!(both, a.then(&b).unwrap(), "{a} . {b}");
    }
}

#[test]
fn a_misfit_has_a_run_that_leads_to_it_and_a_fit_keeps_every_promise() {
    let mut lots = Lots::new(10);
    let (mut fitting, mut not) = (0, 0);
    for _ in 0..400 {
        let (a, b) = (stage(&mut lots), stage(&mut lots));
        let of = |part: usize| [&a, &b][part];
        match fits(&a, &b) {
            Ok(()) => {
                fitting += 1;
                let whole = a.then(&b).unwrap();
                let visible = |event: &&Event| match event {
                    Event::Read(_) => a.events().contains(event),
                    _ => b.events().contains(event),
                };
                for event in [Event::read(""), Event::write("")].iter().filter(visible) {
                    let outer = matches!(event, Event::Read(_)) || !b.writes().is_empty();
                    assert!(!outer || whole.events().contains(event), "{a} . {b} never {event}");
                }
            }
            Err(misfit) => {
                not += 1;
                // Each part follows its own type through the run.
                for part in 0..2 {
                    let own: Vec<Event> = misfit
                        .trace()
                        .iter()
                        .filter_map(|step| step.event_of(part))
                        .cloned()
                        .collect();
                    assert!(of(part).automaton().allows(&own), "{a} . {b}: {misfit}");
                }
            }
        }
    }
    assert!(fitting > 30 && not > 30, "{fitting} fit, {not} do not");
}

/// How many steps two need at least until each can choose to wait where the other one could be met but is
/// not. They share nothing but two wires, `a` from the first and `b` to it.
fn steps_to_a_circle(parts: [&ControlType; 2]) -> Option<usize> {
    let joined = |x: &Event, y: &Event| match (x, y) {
        (Event::Write(from), Event::Read(to)) | (Event::Read(to), Event::Write(from)) => from == to,
        _ => false,
    };
    let served = |event: &Event, by: &ControlType| by.events().iter().any(|e| joined(event, e));
    let [one, two] = parts.map(|part| part.automaton().states());
    let mut seen = BTreeSet::from([(0, 0)]);
    let mut level = vec![(0, 0)];
    for steps in 0.. {
        let mut next = Vec::new();
        for (p, q) in level {
            next.extend(one[p].edges().iter().filter(|e| e.0 == Event::Spawn).map(|e| (e.1, q)));
            next.extend(two[q].edges().iter().filter(|e| e.0 == Event::Spawn).map(|e| (p, e.1)));
            for (e, e_to) in one[p].edges().iter().filter(|edge| edge.0 != Event::Spawn) {
                for (f, f_to) in two[q].edges().iter().filter(|edge| edge.0 != Event::Spawn) {
                    if joined(e, f) {
                        next.push((*e_to, *f_to));
                    } else if served(e, parts[1]) && served(f, parts[0]) {
                        return Some(steps);
                    }
                }
            }
        }
        next.retain(|&node| seen.insert(node));
        if next.is_empty() {
            return None;
        }
        level = next;
    }
    None
}

#[test]
fn circles_are_found_by_the_shortest_run() {
    let mut lots = Lots::new(13);
    let events = |texts: [&str; 3]| texts.map(|text| text.parse::<Event>().unwrap());
    let (first, second) = (events(["Wa", "Rb", "S"]), events(["Ra", "Wb", "S"]));
    let wires = [Wire::new("a", "a"), Wire::new("b", "b")];
    let mut lengths = BTreeSet::new();
    for n in 0..600 {
        let one = random(&mut lots, 3 + n % 6, &first);
        let two = random(&mut lots, 3 + n % 5, &second);
        let expected = steps_to_a_circle([&one, &two]);
        let found = match fits_over(&[("one", &one), ("two", &two)], &wires) {
            Err(misfit) if misfit.part().is_none() => Some(misfit.trace().len()),
            _ => None,
        };
        assert_eq!(found, expected, "{one} and {two}");
        lengths.extend(found);
    }
    assert!(lengths.len() > 3, "{lengths:?}");
}

#[test]
fn repeating_for_ever_absorbs_itself() {
    let mut lots = Lots::new(11);
    for _ in 0..200 {
        let inner = expr(&mut lots, 4, &events()[..2]);
        let plus = |expr: &Expr| Expr::Plus(Box::new(expr.clone()));
        let once = ControlType::new(plus(&inner)).unwrap();
        assert!(once.is_continuous(), "{once}");
        assert_eq!(once, ControlType::new(plus(&plus(&inner))).unwrap(), "{inner}");
        let unrolled = Expr::Seq(vec![inner.clone(), plus(&inner)]).normal();
        assert_eq!(once, ControlType::new(unrolled).unwrap(), "{inner}");
    }
}

#[test]
fn types_and_monitors_may_be_used_by_any_thread() {
    fn check<T: Send + Sync + Clone>() {}
    check::<ControlType>();
    check::<Monitor>();
    check::<Grammar>();
}
