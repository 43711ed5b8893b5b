//! The kinds of fibre that Skaller 2017 names, and programs held against their types.

use std::collections::BTreeSet;

use crate::lots::Lots;
use leno_control::{ControlType, Event, Monitor, Violation};

fn control(text: &str) -> ControlType {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn event(text: &str) -> Event {
    text.parse().unwrap()
}

/// Takes the steps of a text such as `RWR`, and says how many were allowed and why not more.
fn follow(monitor: &mut Monitor, steps: &str) -> Result<(), (usize, Violation)> {
    for (at, letter) in steps.chars().enumerate() {
        monitor.step(&event(&letter.to_string())).map_err(|violation| (at, violation))?;
    }
    Ok(())
}

/// How many of the steps are allowed, and whether it may end then.
fn allowed(control: &ControlType, steps: &str) -> (usize, bool) {
    let mut monitor = Monitor::new(control);
    let count = follow(&mut monitor, steps).map_or_else(|(at, _)| at, |()| steps.len());
    (count, monitor.end().is_ok())
}

#[test]
fn k41_one_shots_do_their_events_and_end() {
    for (text, automaton) in
        [("W", "0-W->1; 1 end"), ("R", "0-R->1; 1 end"), ("RW", "0-R->1; 1-W->2; 2 end")]
    {
        let shot = control(text);
        assert_eq!(shot.automaton().to_string(), automaton);
        assert!(shot.is_one_shot() && !shot.is_continuous());
        assert_eq!(allowed(&shot, text), (text.len(), true), "all of it, and then the end");
        assert_eq!(allowed(&shot, &format!("{text}{text}")), (text.len(), true), "not again");
        assert_eq!(allowed(&shot, ""), (0, false), "not before it has done its work");
    }
}

#[test]
fn k42_continuous_devices_never_end_by_themselves() {
    for text in ["W+", "R+", "(RW)+", "((R+)W)+", "RW+", "(W+)|(R+)"] {
        let device = control(text);
        assert!(device.is_continuous() && !device.is_one_shot(), "{text}");
    }
    assert_eq!(control("W+").automaton().to_string(), "0-W->0");
    assert_eq!(allowed(&control("W+"), &"W".repeat(50)), (50, false));
    assert_eq!(
        Monitor::new(&control("R+")).end().unwrap_err().to_string(),
        "`R+` does not allow to end after 0 events: at the beginning it allows R at column 1"
    );
    // One that writes as long as it likes may end.
    assert_eq!(allowed(&control("W*"), "WWW"), (3, true));
    assert!(!control("W*").is_continuous() && !control("W*").is_one_shot());
    assert!(control("W+") < control("W*"));
}

#[test]
fn k43_a_function_reads_and_writes_in_turn() {
    let function = control("(RW)+");
    assert_eq!(function.automaton().to_string(), "0-R->1; 1-W->0");
    assert_eq!(allowed(&function, "RWRWRW"), (6, false));
    assert_eq!(allowed(&function, "RWRR"), (3, false));
    assert_eq!(allowed(&function, "W"), (0, false));
}

#[test]
fn k44_a_partial_function_never_writes_twice_running() {
    let partial = control("((R+)W)+");
    assert_eq!(allowed(&partial, "RRRWRWRRW"), (9, false));
    assert_eq!(allowed(&partial, "RRWW"), (3, false));
    let twice = |trace: &[Event]| trace.windows(2).any(|pair| pair == [event("W"), event("W")]);
    let traces = partial.automaton().traces(9);
    assert!(traces.len() > 50 && !traces.iter().any(|trace| twice(trace.events())));
    // A function is a partial function.
    assert!(control("(RW)+") < partial);
}

/// What a program sees of its ports: values by lot, and an end after some events.
struct Ports<'a> {
    lots: &'a mut Lots,
    monitor: Monitor,
    seen: Vec<Event>,
    most: usize,
}

/// The program is cut off here, or does what its type forbids.
enum Stop {
    Cut,
    Wrong(Violation),
}

impl Ports<'_> {
    fn happens(&mut self, what: &str) -> Result<(), Stop> {
        if self.seen.len() == self.most {
            return Err(Stop::Cut);
        }
        self.monitor.step(&event(what)).map_err(Stop::Wrong)?;
        self.seen.push(event(what));
        Ok(())
    }

    fn read(&mut self) -> Result<usize, Stop> {
        self.happens("R")?;
        Ok(self.lots.below(100))
    }

    fn write(&mut self, _value: usize) -> Result<(), Stop> {
        self.happens("W")
    }
}

type Program = fn(&mut Ports<'_>) -> Result<(), Stop>;

/// Runs the program many times with other values, and gives all traces it has shown, and whether it has
/// ended by itself; or what was wrong.
fn observe(
    control: &ControlType,
    program: Program,
) -> Result<(BTreeSet<Vec<Event>>, bool), Violation> {
    let mut lots = Lots::new(12);
    let (mut shown, mut ended) = (BTreeSet::new(), false);
    let start = Monitor::new(control);
    for _ in 0..1_000 {
        let monitor = start.clone();
        let mut ports = Ports { lots: &mut lots, monitor, seen: Vec::new(), most: 6 };
        match program(&mut ports) {
            Ok(()) => {
                ports.monitor.end()?;
                ended = true;
            }
            Err(Stop::Cut) => {}
            Err(Stop::Wrong(violation)) => return Err(violation),
        }
        shown.extend((0..=ports.seen.len()).map(|n| ports.seen[..n].to_vec()));
    }
    Ok((shown, ended))
}

fn double(ports: &mut Ports<'_>) -> Result<(), Stop> {
    loop {
        let value = ports.read()?;
        ports.write(2 * value)?;
    }
}

fn only_even(ports: &mut Ports<'_>) -> Result<(), Stop> {
    loop {
        let value = ports.read()?;
        if value.is_multiple_of(2) {
            ports.write(value)?;
        }
    }
}

fn first_below_fifty(ports: &mut Ports<'_>) -> Result<(), Stop> {
    loop {
        let value = ports.read()?;
        if value < 50 {
            return ports.write(value);
        }
    }
}

#[test]
fn k40_a_control_type_is_what_can_be_observed() {
    let programs: [(&str, Program, bool); 3] = [
        ("(RW)+", double, false),
        ("((R+)W)+", only_even, false),
        ("R+W", first_below_fifty, true),
    ];
    for (text, program, ends) in programs {
        let control = control(text);
        let traces = control.automaton().traces(6).into_iter().map(|trace| trace.0).collect();
        assert_eq!(observe(&control, program).unwrap(), (traces, ends), "{text}");
    }
}

#[test]
fn k46_a_program_that_does_not_keep_to_its_type_is_found() {
    let of = |text: &str, program| observe(&control(text), program).unwrap_err().to_string();
    assert_eq!(
        of("(RW)+", only_even),
        "`(RW)+` does not allow R as event 2: after R at column 2 it allows W at column 3"
    );
    assert_eq!(
        of("RW", double),
        "`RW` does not allow R as event 3: after W at column 2 it allows the end"
    );
    assert_eq!(
        of("(R+W)+", first_below_fifty),
        "`(R+W)+` does not allow to end after 2 events: after W at column 4 it allows R at column 2"
    );
}

#[test]
fn k46_a_violation_says_where_in_the_type() {
    let mut monitor = Monitor::new(&control("(Rleft (Rright | Rleft Wlog) Wsum)+"));
    assert_eq!(monitor.place(), ".(Rleft (Rright | Rleft Wlog) Wsum)+");
    monitor.step(&event("Rleft")).unwrap();
    assert_eq!(monitor.place(), "(Rleft. (Rright | Rleft Wlog) Wsum)+");
    assert_eq!(monitor.allowed(), [event("Rleft"), event("Rright")]);
    for wrong in ["Wsum", "Wlog", "S", "Relsewhere"] {
        let violation = monitor.step(&event(wrong)).unwrap_err();
        assert_eq!(violation.event(), Some(&event(wrong)));
        assert_eq!(violation.allowed(), [&event("Rleft"), &event("Rright")]);
        assert_eq!((violation.steps(), violation.may_end()), (1, false));
        assert_eq!(
            violation.to_string(),
            format!(
                "`(Rleft (Rright | Rleft Wlog) Wsum)+` does not allow {wrong} as event 2: after Rleft at \
                 column 2 it allows Rleft at column 18 or Rright at column 9"
            )
        );
    }
    assert_eq!(monitor.steps(), 1, "what is refused does not happen");
    for fine in ["Rleft", "Wlog", "Wsum", "Rleft", "Rright"] {
        monitor.step(&event(fine)).unwrap();
    }
    assert_eq!(
        (monitor.steps(), monitor.place()),
        (6, "(Rleft (Rright. | Rleft Wlog) Wsum)+".to_owned())
    );
    // Where the type leaves open where one is, all such places are named.
    let mut monitor = Monitor::new(&control("RW|RR?S"));
    monitor.step(&event("R")).unwrap();
    assert_eq!(monitor.place(), "R.W|R.R?S");
    assert_eq!(
        monitor.step(&event("R1")).unwrap_err().to_string(),
        "`RW|RR?S` does not allow R1 as event 2: after R at column 1 or 4 it allows R at column 5, W at \
         column 2 or S at column 7"
    );
}

#[test]
fn k46_monitors_of_one_type_share_what_they_know_and_step_apart() {
    let first = Monitor::new(&control("(RW)+"));
    let (read, write) = (first.letter(&event("R")).unwrap(), first.letter(&event("W")).unwrap());
    assert_eq!(first.letter(&event("R2")), None);
    let mut fibres: Vec<Monitor> = vec![first; 100];
    for (at, monitor) in fibres.iter_mut().enumerate() {
        for _ in 0..at {
            monitor.step_letter(read).unwrap();
            monitor.step_letter(write).unwrap();
        }
        assert_eq!(monitor.steps(), 2 * at as u64);
        assert!(monitor.step_letter(write).is_err());
    }
}
