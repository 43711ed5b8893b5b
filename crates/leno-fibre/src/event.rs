//! The events of fibres, in their total order.
//!
//! They are what a run's log says of them: nothing is written down twice. A fibre enters a read, and
//! returns from it after whoever matched it has entered a write; and the other way round.

use leno_kernel::log::{Log, Operation, What};
use leno_kernel::{Co, Object, Outcome};

/// Something that a fibre has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It has spawned this fibre.
    Spawns(Co),
    /// It begins to read from this channel.
    EntersRead(Object),
    /// It has read a value.
    ReturnsRead(Object),
    /// It begins to write to this channel.
    EntersWrite(Object),
    /// Its value was read.
    ReturnsWrite(Object),
    /// Suicide: its body has returned.
    Returns,
    /// It ended otherwise: starved, by blockage, killed, by a panic.
    Ends(Outcome),
}

/// An event, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Happened {
    /// The fibre; `None` for the spawning of the first.
    pub by: Option<Co>,
    /// What it did.
    pub event: Event,
}

/// The events of a log, the first first.
///
/// # Examples
/// ```
/// use leno_fibre::{Event, Runner};
///
/// let ran = Runner::new().log(100).run(|cx| {
///     cx.spawn(|_| ());
/// });
/// let events = ran.events();
/// assert!(matches!(events[0].event, Event::Spawns(_)));
/// assert_eq!(events.iter().filter(|one| one.event == Event::Returns).count(), 2);
/// ```
pub fn events(log: &Log) -> Vec<Happened> {
    let happened = |by, what: &What| {
        let event = match what {
            What::Spawned { co, .. } => Event::Spawns(*co),
            What::Begins(Operation::Receive, channel) => Event::EntersRead(*channel),
            What::Does(Operation::Receive, channel) => Event::ReturnsRead(*channel),
            What::Begins(Operation::Send, channel) => Event::EntersWrite(*channel),
            What::Does(Operation::Send, channel) => Event::ReturnsWrite(*channel),
            What::Ended(Outcome::Returned) => Event::Returns,
            What::Ended(outcome) => Event::Ends(*outcome),
            _ => return None,
        };
        Some(Happened { by, event })
    };
    log.events().iter().filter_map(|one| happened(one.by, &one.what)).collect()
}
