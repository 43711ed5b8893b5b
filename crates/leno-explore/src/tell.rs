//! A log as a schedule in words: a paragraph for each turn, without what goes without saying.

use core::panic::Location;

use leno_kernel::Reason;
use leno_kernel::layer::world;
use leno_kernel::log::{self, Event, Log, Operation, What};
use leno_kernel::policy::Why;

/// How marks of this crate begin: they are not words of the program.
const OWN: &str = "@ ";

/// Writes down that the calling thread is about to do this, at this place of the program.
pub(crate) fn about_to(what: &str, site: &'static Location<'static>) {
    if log::is_on() {
        log::mark(format!("{OWN}{what}, at {site}"));
    }
}

/// The log as a schedule.
pub(crate) fn tell(log: &Log) -> String {
    let mut text = String::new();
    let mut turn: Option<&str> = None;
    let (events, lines) = (log.events(), log.lines());
    for (n, (event, line)) in events.iter().zip(&lines).enumerate() {
        let Some(what) = words(event, &line.what, events.get(n + 1)) else { continue };
        let by = if event.by.is_none() { "time" } else { &line.by };
        if turn != Some(by) {
            turn = Some(by);
            text.push_str(&format!("  {by}\n"));
        }
        text.push_str(&format!("      {what}\n"));
    }
    text
}

/// What is told of an event, if anything; `line` is what the log says, `next` what comes after it.
fn words(event: &Event, line: &str, next: Option<&Event>) -> Option<String> {
    let next = next.filter(|next| next.by == event.by).map(|next| &next.what);
    // A log names the object at the end, and says why in brackets.
    let on = || line.split_once(" on ").map_or("?", |(_, object)| object);
    let before = |mark| line.rsplit_once(mark).map_or(line, |(before, _)| before).to_owned();
    Some(match &event.what {
        What::Woke { why: Why::Time, .. } => before(" ("),
        _ if event.by.is_none() => return None,
        What::Runs | What::Woke { why: Why::Spawned, .. } | What::Chose { took: 0, .. } => {
            return None;
        }
        What::Woke { .. } => before(" ("),
        What::Yielded if next == Some(&What::Runs) => return None,
        What::Yielded => "is interrupted, or lets others run".to_owned(),
        What::Spawned { site, .. } if world::is_own_place(site) => before(" at "),
        What::Parked(Reason::Passive) => "waits to be woken".to_owned(),
        What::Parked(Reason::Sleeping) => "sleeps".to_owned(),
        What::Parked(_) => {
            line.replacen("parks: waiting", "waits", 1).replacen("parks:", "waits", 1)
        }
        What::Begins(operation, object) => match next {
            Some(What::Does(other, same) | What::Fails(other, same))
                if (operation, object) == (other, same) =>
            {
                return None;
            }
            _ if *operation == Operation::Close => doing(*operation, on())[0].clone(),
            _ => format!("begins to {}", doing(*operation, on())[1]),
        },
        What::Does(operation, _) => doing(*operation, on())[0].clone(),
        What::Fails(operation, _) => format!("cannot {}", doing(*operation, on())[1]),
        What::Marked(_) => {
            let own = line.strip_prefix("says: ").and_then(|word| word.strip_prefix(OWN));
            own.unwrap_or(line).to_owned()
        }
        _ => line.to_owned(),
    })
}

/// An operation in words: that it is done, and what one may begin or fail to do.
fn doing(operation: Operation, object: &str) -> [String; 2] {
    let (does, to, on) = match operation {
        Operation::Send => ("sends", "send", "to "),
        Operation::Receive => ("receives", "receive", "from "),
        Operation::Select => ("selects", "select", "among "),
        Operation::Join => ("joins", "join", "at "),
        Operation::Lock => ("locks", "lock", ""),
        Operation::Unlock => ("unlocks", "unlock", ""),
        Operation::Close => ("closes", "close", "its end of "),
        _ => ("operates", "operate", "on "),
    };
    [format!("{does} {on}{object}"), format!("{to} {on}{object}")]
}
