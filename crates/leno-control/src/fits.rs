//! Whether fibres of given types can work together at all.
//!
//! Two things must not be. *Circular waiting*: each waits for another at a wire, none has ended, and nothing
//! can ever happen. And a *promise that cannot be kept*: some event of a type, or its end, can happen in no
//! run, because the fibre waits for ever before it. That a fibre ends by starvation or blockage is no
//! misfit: continuous devices end in no other way.
//!
//! Whoever waits does so for what it has chosen, so that a misfit is found also if it shows in some runs
//! only (circular waiting). Every misfit comes with the shortest run that leads to it.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use crate::compose::{Line, Named, Wire, Wiring};
use crate::control_type::ControlType;
use crate::error::TooLarge;
use crate::event::Event;
use crate::machine::Machine;
use crate::runs::{Runs, Step};

/// Why fibres do not fit together.
#[derive(Clone, PartialEq, Eq)]
pub struct Misfit {
    part: Option<usize>,
    trace: Vec<Step>,
    message: String,
}

impl Misfit {
    /// Who can never do what its type promises, counted from 0; none if some wait for each other.
    #[must_use]
    pub fn part(&self) -> Option<usize> {
        self.part
    }

    /// The shortest run that shows it.
    #[must_use]
    pub fn trace(&self) -> &[Step] {
        &self.trace
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Misfit {}

impl From<TooLarge> for Misfit {
    /// It is not known whether they fit.
    fn from(error: TooLarge) -> Self {
        Misfit { part: None, trace: Vec::new(), message: error.to_string() }
    }
}

crate::error::debug_as_told!(Misfit);

/// Whether a stage of type `downstream` can work behind one of type `upstream`: all that the one writes is
/// read by the other.
///
/// ```
/// use leno_control::{ControlType, fits};
///
/// let types = |a: &str, b: &str| (a.parse::<ControlType>().unwrap(), b.parse::<ControlType>().unwrap());
/// let (function, sink) = types("(RW)+", "R+");
/// assert!(fits(&function, &sink).is_ok());
/// assert_eq!(
///     fits(&sink, &function).unwrap_err().to_string(),
///     "downstream `(RW)+` can never read: from the start it waits for ever to read, for nobody ever \
///      writes there"
/// );
/// ```
///
/// # Errors
///
/// If one of them could never do something that its type promises, or end though its type says so.
pub fn fits(upstream: &ControlType, downstream: &ControlType) -> Result<(), Misfit> {
    check(&[("upstream", upstream), ("downstream", downstream)], &Line)
}

/// Whether fibres of these types can work together over these wires. Each has a name for the message.
///
/// ```
/// use leno_control::{ControlType, Wire, fits_over};
///
/// let client: ControlType = "(Wask Ranswer)+".parse()?;
/// let server: ControlType = "(Rask Rask Wanswer)+".parse()?;
/// let wires = [Wire::new("ask", "ask"), Wire::new("answer", "answer")];
/// assert_eq!(
///     fits_over(&[("client", &client), ("server", &server)], &wires).unwrap_err().to_string(),
///     "after Wask/Rask all wait for each other: client `(Wask Ranswer)+` to read from answer, \
///      server `(Rask Rask Wanswer)+` to read from ask"
/// );
/// # Ok::<(), leno_control::TypeError>(())
/// ```
///
/// # Errors
///
/// If some could be left waiting for each other, or one could never do something that its type promises.
pub fn fits_over(parts: &[(&str, &ControlType)], wires: &[Wire]) -> Result<(), Misfit> {
    check(parts, &Named(wires))
}

/// The parts with their names, for messages.
pub(crate) type Parts<'a> = [(&'a str, &'a ControlType)];

/// Whether these can work together.
pub(crate) fn check(parts: &Parts<'_>, wiring: &impl Wiring) -> Result<(), Misfit> {
    let machines: Vec<&Machine> = parts.iter().map(|part| part.1.machine()).collect();
    let runs = Runs::new(&machines, wiring)?;
    circle(&runs, parts)?;
    (0..parts.len()).try_for_each(|part| promises(&runs, part, parts))
}

/// Looks for parts that wait for each other.
fn circle(runs: &Runs<'_, impl Wiring>, parts: &Parts<'_>) -> Result<(), Misfit> {
    for number in (0..runs.nodes.len()).filter(|&number| runs.moves[number].is_empty()) {
        let waiting = in_circle(runs, number)?;
        if waiting.is_empty() {
            continue;
        }
        let trace = runs.trace(number);
        let each: Vec<String> = waiting
            .iter()
            .map(|&part| format!("{} to {}", called(parts, part), wish(runs, number, part)))
            .collect();
        let message = format!("{} all wait for each other: {}", when(&trace), each.join(", "));
        return Err(Misfit { part: None, trace, message });
    }
    Ok(())
}

/// Of those that wait when nothing can happen any more, those that wait for one another. Who waits only for
/// such as have ended, or wait for those in turn, is starved or blocked, and no part of a circle.
fn in_circle(runs: &Runs<'_, impl Wiring>, number: usize) -> Result<Vec<usize>, TooLarge> {
    let node = &runs.nodes[number];
    let wishes = |part: usize| node[part].waits.iter().flatten();
    let mut waiting: Vec<usize> =
        (0..node.len()).filter(|&part| wishes(part).next().is_some()).collect();
    loop {
        let before = waiting.len();
        let left = waiting.clone();
        let wished: usize = left.iter().map(|&part| wishes(part).count()).sum();
        let served: usize = left.iter().map(|&part| runs.events[part].len()).sum();
        runs.work.spend_product(wished, served)?;
        waiting.retain(|&part| {
            left.iter()
                .any(|&other| other != part && wishes(part).any(|e| serves(runs, other, part, e)))
        });
        if waiting.len() == before {
            return Ok(waiting);
        }
    }
}

/// Whether `other` could ever be at the other end of the wire where `part` waits for `event`.
fn serves(runs: &Runs<'_, impl Wiring>, other: usize, part: usize, event: &Event) -> bool {
    runs.events[other].iter().any(|own| {
        runs.wiring.joins((other, own), (part, event))
            || runs.wiring.joins((part, event), (other, own))
    })
}

/// Looks for an event of a part, or its end, that never comes.
fn promises(runs: &Runs<'_, impl Wiring>, part: usize, parts: &Parts<'_>) -> Result<(), Misfit> {
    let mut missing = runs.events[part].clone();
    let mut may_end = !runs.machines[part].places.iter().any(|place| place.ends());
    for (node, moves) in runs.nodes.iter().zip(&runs.moves) {
        may_end |= runs.machines[part].places[node[part].place].ends();
        for step in moves.iter().filter_map(|step| step.step.as_ref()) {
            step.event_of(part).map(|event| missing.remove(event));
        }
    }
    let promise = match missing.first() {
        Some(event) => event.in_words(),
        None if !may_end => "end".to_owned(),
        None => return Ok(()),
    };
    let name = called(parts, part);
    let Some(stuck) = stuck_for_ever(runs, part) else {
        let message = format!("{name} can never {promise}, for it never meets who would be needed");
        return Err(Misfit { part: Some(part), trace: Vec::new(), message });
    };
    let trace = runs.trace(stuck);
    let able = |other: &usize| *other != part && could_serve(runs, stuck, part, *other);
    let mut reasons: Vec<String> = (0..parts.len())
        .filter(able)
        .map(|other| format!("{} {}", called(parts, other), excuse(runs, stuck, other)))
        .collect();
    if reasons.is_empty() {
        reasons.push(format!("nobody {} there", served_by(runs, stuck, part)));
    }
    let message = format!(
        "{name} can never {promise}: {} it waits for ever to {}, for {}",
        when(&trace),
        wish(runs, stuck, part),
        reasons.join(" and ")
    );
    Err(Misfit { part: Some(part), trace, message })
}

/// The nearest node where the part waits at a wire and will never move again. There is none if the part is
/// itself composed, and all of it but the one that waits goes on.
fn stuck_for_ever(runs: &Runs<'_, impl Wiring>, part: usize) -> Option<usize> {
    let waits =
        |number: usize| runs.nodes[number][part].waits.as_ref().is_some_and(|o| !o.is_empty());
    // Backwards from where it moves, along the steps of others.
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); runs.nodes.len()];
    let mut moves_on: BTreeSet<usize> = BTreeSet::new();
    for (from, moves) in runs.moves.iter().enumerate() {
        for step in moves {
            match step.step.as_ref().and_then(|step| step.event_of(part)) {
                Some(_) => drop(moves_on.insert(from)),
                None => sources[step.to].push(from),
            }
        }
    }
    let mut waiting: Vec<usize> = moves_on.iter().copied().collect();
    while let Some(number) = waiting.pop() {
        waiting.extend(sources[number].iter().copied().filter(|&from| moves_on.insert(from)));
    }
    (0..runs.nodes.len()).find(|number| waits(*number) && !moves_on.contains(number))
}

/// Whether `other` could ever do what `part` waits for in this node.
fn could_serve(runs: &Runs<'_, impl Wiring>, number: usize, part: usize, other: usize) -> bool {
    let mut wishes = runs.nodes[number][part].waits.iter().flatten();
    wishes.any(|event| serves(runs, other, part, event))
}

/// What one would have to do for whom the part waits in this node.
fn served_by(runs: &Runs<'_, impl Wiring>, number: usize, part: usize) -> &'static str {
    match runs.nodes[number][part].waits.iter().flatten().next() {
        Some(Event::Read(_)) => "ever writes",
        _ => "ever reads",
    }
}

/// Why one who could do what is waited for does not.
fn excuse(runs: &Runs<'_, impl Wiring>, number: usize, other: usize) -> String {
    let spot = &runs.nodes[number][other];
    let place = &runs.machines[other].places[spot.place];
    match &spot.waits {
        Some(offer) if offer.is_empty() => "has ended".to_owned(),
        Some(_) => format!("waits to {}", wish(runs, number, other)),
        None if !place.ends() => "goes on without it".to_owned(),
        None if place.edges.is_empty() => "has ended".to_owned(),
        None => "may end".to_owned(),
    }
}

/// What the part waits for in this node.
fn wish(runs: &Runs<'_, impl Wiring>, number: usize, part: usize) -> String {
    let wishes: Vec<_> =
        runs.nodes[number][part].waits.iter().flatten().map(Event::in_words).collect();
    wishes.join(" or to ")
}

fn called(parts: &Parts<'_>, part: usize) -> String {
    format!("{} `{}`", parts[part].0, parts[part].1)
}

fn when(trace: &[Step]) -> String {
    match trace {
        [] => "from the start".to_owned(),
        steps => {
            let steps: Vec<_> = steps.iter().map(Step::to_string).collect();
            format!("after {}", steps.join(", "))
        }
    }
}
