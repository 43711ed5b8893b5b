//! The operations, by area.

use std::ops::Range;
use std::sync::OnceLock;

use crate::world::Cx;

pub mod channel;
pub mod coroutine;
pub mod fibre;
pub mod flexible;
pub mod frame;
pub mod graph;
pub mod kernel;
pub mod limits;
pub mod misdeed;
pub mod network;
pub mod process;
pub mod ring;
pub mod scope;
pub mod session;
pub mod source;
pub mod system;

/// An operation: its name and what it does.
pub type Act = (&'static str, fn(&Cx<'_>, u8, u8, u8));

/// The areas: their names and tables. The first is that of misdeeds.
const AREAS: &[(&str, &[Act])] = &[
    ("misdeed", misdeed::ACTS),
    ("coroutine", coroutine::ACTS),
    ("scope", scope::ACTS),
    ("ring", ring::ACTS),
    ("kernel", kernel::ACTS),
    ("system", system::ACTS),
    ("channel", channel::ACTS),
    ("frame", frame::ACTS),
    ("fibre", fibre::ACTS),
    ("flexible", flexible::ACTS),
    ("process", process::ACTS),
    ("graph", graph::ACTS),
    ("network", network::ACTS),
    ("limits", limits::ACTS),
    ("session", session::ACTS),
];

/// Returns all operations.
pub fn acts() -> &'static [Act] {
    static ALL: OnceLock<Vec<Act>> = OnceLock::new();
    ALL.get_or_init(|| AREAS.iter().flat_map(|(_, acts)| acts.iter().copied()).collect())
}

/// Returns which operations each area has.
pub fn areas() -> &'static [Range<usize>] {
    static ALL: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut next = 0;
        let range = |(_, acts): &(&str, &[Act])| {
            let from = next;
            next += acts.len();
            from..next
        };
        AREAS.iter().map(range).collect()
    })
}

/// Names the areas that programs are about, with commas between them.
pub const VARIABLE: &str = "LENO_HOSTILE_AREAS";

/// Areas that take part only if they are named, each with the reason: findings that are not mended or traced.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "flexible",
        "`403815` and `404905`, in 300 s: the end of a system waited for ever; not traced",
    ),
    (
        "graph",
        "`71651` with other areas: an outlet of a parallel graph waited for ever; not traced",
    ),
    ("limits", "its last finding is mended, and few programs have run since"),
    (
        "system",
        "a body ended where no core runs it, an internal panic in `spawn::finish`; not seen again, not traced",
    ),
];

/// Returns the names of the areas that programs are about.
pub fn names() -> String {
    wanted().iter().map(|at| AREAS[*at].0).collect::<Vec<_>>().join(",")
}

/// Returns the areas that programs are about: those that [`VARIABLE`] names, or all that are not left out.
pub fn wanted() -> &'static [usize] {
    static WANTED: OnceLock<Vec<usize>> = OnceLock::new();
    WANTED.get_or_init(|| {
        let names = std::env::var(VARIABLE).unwrap_or_default();
        let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
        let is_left_out = |area: &str| LEFT_OUT.iter().any(|(name, _)| *name == area);
        let is_wanted = |at: &usize| {
            let area = AREAS[*at].0;
            if names.is_empty() { !is_left_out(area) } else { names.contains(&area) }
        };
        (0..AREAS.len()).filter(is_wanted).collect()
    })
}
