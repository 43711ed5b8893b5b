//! A log as a schedule in words: a paragraph for each turn, without what goes without saying.

use core::panic::Location;

use leno_kernel::log::{self, Event, Log, What};
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
        let Some(what) = words(event, &line.what, &events[n + 1..]) else { continue };
        let by = if event.by.is_none() { "time" } else { &line.by };
        if turn != Some(by) {
            turn = Some(by);
            text.push_str(&format!("  {by}\n"));
        }
        text.push_str(&format!("      {what}\n"));
    }
    text
}

/// What is told of an event, if anything; `line` is what the log says.
fn words<'a>(event: &Event, line: &'a str, next: &[Event]) -> Option<&'a str> {
    // A log says why in brackets.
    let plain = || line.rsplit_once(" (").map_or(line, |(plain, _why)| plain);
    match &event.what {
        What::Woke { why: Why::Time, .. } => Some(plain()),
        _ if event.by.is_none() => None,
        What::Runs | What::Woke { why: Why::Spawned, .. } | What::Chose { took: 0, .. } => None,
        What::Yielded if goes_on(event, next) => None,
        What::Yielded => Some("is interrupted, or lets others run"),
        What::Woke { .. } => Some(plain()),
        What::Spawned { site, .. } if is_inside(site) => {
            line.rsplit_once(" at ").map(|(plain, _site)| plain)
        }
        What::Marked(_) => {
            line.strip_prefix("says: ").and_then(|word| word.strip_prefix(OWN)).or(Some(line))
        }
        _ => Some(line),
    }
}

/// Whether whoever let others run goes on itself.
fn goes_on(event: &Event, next: &[Event]) -> bool {
    next.first().is_some_and(|next| next.by == event.by && next.what == What::Runs)
}

/// Whether a place is the kernel's own, of which a reader knows nothing: threads of cores begin there.
fn is_inside(site: &Location<'_>) -> bool {
    let file = site.file().replace('\\', "/");
    file.contains("leno-kernel") && file.ends_with("/src/world/thread.rs")
}
