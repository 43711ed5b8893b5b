//! Which send belongs to which receive.

use std::collections::HashMap;

use leno_kernel::Object;
use leno_kernel::log::{Log, Operation, What};

use super::{Arrow, Carries, Story};

/// Row and moment of each.
#[derive(Default)]
struct Passed {
    sent: Vec<(usize, usize)>,
    received: Vec<(usize, usize)>,
}

/// An arrow for each value that was received; see the header of `story`.
pub(super) fn pairs(log: &Log, story: &Story) -> Vec<Arrow> {
    let mut passed: HashMap<Object, Passed> = HashMap::new();
    for (now, (event, moment)) in log.events().iter().zip(&story.moments).enumerate() {
        let (What::Does(operation, object), Some(by)) = (&event.what, moment.by) else { continue };
        let passed = passed.entry(*object).or_default();
        match operation {
            Operation::Send => passed.sent.push((by, now)),
            Operation::Receive => passed.received.push((by, now)),
            _ => {}
        }
    }
    let mut arrows: Vec<Arrow> = passed
        .into_values()
        .filter(|passed| passed.received.len() <= passed.sent.len())
        .flat_map(|passed| passed.sent.into_iter().zip(passed.received))
        .map(|(from, to)| {
            let text = story.moments[from.1].text.replacen("send on", "a value through", 1);
            Arrow { carries: Carries::Value, from, to, text }
        })
        .collect();
    // The map has no order of its own.
    arrows.sort_by_key(|arrow| (arrow.from.1, arrow.to.1));
    arrows
}
