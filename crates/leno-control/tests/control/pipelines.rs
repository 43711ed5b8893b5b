//! Pipelines and other compositions, as Skaller 2017 has them in section 10.1.

use leno_control::{
    ControlType, Event, Openness, PipelineError, Wire, checked_pipeline, compose, fits, fits_over,
    pipeline,
};

fn control(text: &str) -> ControlType {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn stages(texts: &[&str]) -> Vec<ControlType> {
    texts.iter().map(|text| control(text)).collect()
}

/// Two functions over the wire from W1 to R2.
fn two_functions() -> ControlType {
    compose(&[&control("(R1W1)+"), &control("(R2W2)+")], &[Wire::new("1", "2")]).unwrap()
}

#[test]
fn k50_pipelines_are_open_closed_or_partly_open() {
    let kinds: [(&[&str], &str, Openness); 6] = [
        (&["(RW)+", "(RW)+"], "(R(RW)*W)+", Openness::Open),
        (&["W+", "(RW)+"], "W+", Openness::Writes),
        (&["(RW)+", "R+"], "R+", Openness::Reads),
        (&["W+", "(RW)+", "R+"], "()+", Openness::Closed),
        (&["W", "(RW)+", "R+"], "()", Openness::Closed),
        (&["W*", "(RW)+"], "W*", Openness::Writes),
    ];
    for (texts, text, openness) in kinds {
        let whole = pipeline(&stages(texts)).unwrap();
        assert_eq!((whole.to_string().as_str(), whole.openness()), (text, openness), "{texts:?}");
    }
}

#[test]
fn k50_a_closed_pipeline_ends_if_its_source_does() {
    let busy = pipeline(&stages(&["W+", "R+"])).unwrap();
    assert_eq!(busy.automaton().to_string(), "0 busy");
    assert!(busy.is_continuous());
    let done = pipeline(&stages(&["W", "R+"])).unwrap();
    assert_eq!(done.automaton().to_string(), "0 end");
    assert!(done.is_one_shot());
}

#[test]
fn k51_two_functions_may_read_twice_before_they_write() {
    let both = two_functions();
    let one = control("(R1W2)+");
    let excess = both.included_in(&one).unwrap_err();
    assert_eq!(excess.trace().events(), [Event::read("1"), Event::read("1")]);
    assert_eq!(excess.allowed(), [Event::write("2")]);
    assert_eq!(one.included_in(&both), Ok(()), "one schedule is that of a function");
}

#[test]
fn k53_the_principal_type_is_smaller_than_what_contains_it() {
    let both = two_functions();
    let larger = control("(R1?R1W2?W2)+");
    assert!(both < larger);
    assert_eq!(
        larger.included_in(&both).unwrap_err().to_string(),
        "`(R1?R1W2?W2)+` allows R1 W2 W2, `(R1(R1W2)*W2)+` does not; it allows R1 there"
    );
    // Larger still, as corrected: (R1+W2+)+ and not (R1+R2)+.
    let largest = control("(R1+W2+)+");
    assert!(larger < largest && both < largest);
}

#[test]
fn stages_with_several_ports_are_wired_by_name() {
    let error = pipeline(&stages(&["(RWaWb)+", "(RW)+"])).unwrap_err();
    assert!(matches!(error, PipelineError::SeveralPorts { stage: 1, .. }));
    assert_eq!(error.to_string(), "stage 1 writes to `a` and `b`, but one channel joins stages");
    assert_eq!(pipeline(&[]).unwrap_err().to_string(), "a pipeline needs a stage");
    // The outer ports may be several.
    let outer = pipeline(&stages(&["(RaRbW)+", "(RWcWd)+"])).unwrap();
    assert_eq!(outer.events().len(), 4);
    // A diamond: one splits, two work, one joins.
    let parts = stages(&["(Rin Wa Wb)+", "(Ra Wc)+", "(Rb Wd)+", "(Rc Rd Wout)+"]);
    let wires = ["a", "b", "c", "d"].map(|name| Wire::new(name, name));
    let parts: Vec<_> = parts.iter().collect();
    let diamond = compose(&parts, &wires).unwrap();
    assert_eq!(diamond.reads().len() + diamond.writes().len(), 2);
    assert!(control("(Rin Wout)+") < diamond);
    let trace = |text: &str| text.split(' ').map(|e| e.parse().unwrap()).collect::<Vec<Event>>();
    assert!(!diamond.automaton().allows(&trace("Rin Wout Wout")));
}

#[test]
fn several_writers_meet_one_reader() {
    let writers = [control("Wa"), control("Wb")];
    let reader = control("(Rc Wout)+");
    let parts = [&writers[0], &writers[1], &reader];
    let whole = compose(&parts, &[Wire::new("a", "c"), Wire::new("b", "c")]).unwrap();
    assert_eq!(whole, control("Wout Wout"));
}

#[test]
fn k46_a_stage_that_cannot_fit_is_refused_when_the_pipeline_is_built() {
    let of = |texts: &[&str]| checked_pipeline(&stages(texts)).map_err(|error| error.to_string());
    for fitting in [
        &["(RW)+", "(RW)+"][..],
        &["RW", "(RW)+"],
        &["(RW)+", "RW"],
        &["W+", "(RW)+", "(R+W)+", "R+"],
        &["W", "(RW)+"],
        &["W*", "(RRW)+"],
        &["(RRW)+", "(RWW)+"],
        &["(RWW)+", "R"],
    ] {
        assert!(of(fitting).is_ok(), "{fitting:?}: {:?}", of(fitting));
    }
    let misfits: [(&[&str], &str); 5] = [
        (
            &["(RW)+", "R+", "(RW)+"],
            "stage 3 does not fit: stage 3 `(RW)+` can never read: from the start it waits for ever to \
             read, for nobody ever writes there",
        ),
        (
            &["(RW)+", "W+"],
            "stage 2 does not fit: stage 1 `(RW)+` can never write: after R it waits for ever to write, \
             for nobody ever reads there",
        ),
        (
            &["W", "(RW)+", "(RRW)+"],
            "stage 3 does not fit: stage 3 `(RRW)+` can never write: after W/R it waits for ever to \
             read, for stages 1 to 2 `W` has ended",
        ),
        (
            &["RW", "RR"],
            "stage 2 does not fit: stage 2 `RR` can never end: after R, W/R it waits for ever to read, \
             for stage 1 `RW` has ended",
        ),
        (
            &["RWW", "R"],
            "stage 2 does not fit: stage 1 `RWW` can never end: after R, W/R it waits for ever to write, \
             for stage 2 `R` has ended",
        ),
    ];
    for (texts, message) in misfits {
        assert_eq!(of(texts).unwrap_err(), message);
    }
}

#[test]
fn two_that_wait_for_each_other_do_not_fit() {
    let wires = [Wire::new("1", "1"), Wire::new("2", "2")];
    let (a, b) = (control("R1W2"), control("R2W1"));
    let misfit = fits_over(&[("a", &a), ("b", &b)], &wires).unwrap_err();
    assert_eq!(
        misfit.to_string(),
        "from the start all wait for each other: a `R1W2` to read from 1, b `R2W1` to read from 2"
    );
    assert!(misfit.trace().is_empty() && misfit.part().is_none());
    assert!(fits_over(&[("a", &a), ("b", &control("W1R2"))], &wires).is_ok());
}

#[test]
fn a_circle_is_found_also_if_it_shows_in_some_runs_only() {
    let wires = [Wire::new("ask", "ask"), Wire::new("answer", "answer")];
    let client = control("(Wask Ranswer)+");
    // It may forget to answer.
    let server = control("(Rask Wanswer?)+");
    let misfit = fits_over(&[("client", &client), ("server", &server)], &wires).unwrap_err();
    assert_eq!(
        misfit.to_string(),
        "after Wask/Rask all wait for each other: client `(Wask Ranswer)+` to read from answer, \
         server `(Rask Wanswer?)+` to read from ask"
    );
    assert!(
        fits_over(&[("client", &client), ("server", &control("(Rask Wanswer)+"))], &wires).is_ok()
    );
}

#[test]
fn those_who_are_blocked_in_turn_are_no_circle() {
    // The last one ends, so the second is blocked, so the first is.
    let parts = stages(&["(Rin W1)+", "(R1 W2)+", "R2 Wout"]);
    let wires = [Wire::new("1", "1"), Wire::new("2", "2")];
    let named = [("first", &parts[0]), ("second", &parts[1]), ("third", &parts[2])];
    assert_eq!(fits_over(&named, &wires), Ok(()));
}

#[test]
fn what_was_composed_fits_as_its_parts_do() {
    // The two functions offer to read and to write at the same time; one who chose would get stuck.
    let two = control("(RW)+").then(&control("(RW)+")).unwrap();
    assert_eq!(control("W").then(&two).unwrap(), control("W"));
    assert!(fits(&control("W"), &two).is_ok());
    let chosen = control("(R(RW)*W)+");
    assert_eq!(two, chosen, "they show the same ..");
    assert_eq!(
        control("W").then(&chosen).unwrap(),
        control("W?"),
        ".. but one fibre of that type may insist on a second value before it writes"
    );
}
