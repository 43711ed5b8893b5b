//! The operations, by area.

use std::ops::Range;
use std::sync::OnceLock;

use crate::world::Cx;

pub mod channel;
pub mod coroutine;
pub mod exits;
pub mod fibre;
pub mod flexible;
pub mod frame;
pub mod graph;
pub mod hooks;
pub mod kernel;
pub mod limits;
pub mod migrate;
pub mod misdeed;
pub mod network;
pub mod process;
pub mod ring;
pub mod scope;
pub mod select;
pub mod session;
pub mod show;
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
    ("show", show::ACTS),
    ("exits", exits::ACTS),
    ("hooks", hooks::ACTS),
    ("select", select::ACTS),
    ("migrate", migrate::ACTS),
];

/// Operations that find what is not settled yet. They do nothing, unless [`WITHOUT`] names others.
const NOT_YET: &[&str] = &[];

/// Names the operations that are left out, with commas between them, in place of `NOT_YET`; part of what a replay needs.
pub const WITHOUT: &str = "LENO_HOSTILE_WITHOUT";

/// Whether an operation takes part.
pub fn takes_part(name: &str) -> bool {
    static OUT: OnceLock<Vec<String>> = OnceLock::new();
    let out = OUT.get_or_init(|| match std::env::var(WITHOUT) {
        Ok(names) => names.split(',').map(str::to_owned).collect(),
        Err(_) => NOT_YET.iter().map(|name| (*name).to_owned()).collect(),
    });
    !out.iter().any(|out| out == name)
}

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

/// Returns the names of the areas that programs are about.
pub fn names() -> String {
    wanted().iter().map(|at| AREAS[*at].0).collect::<Vec<_>>().join(",")
}

/// Returns the areas that programs are about: those that [`VARIABLE`] names, or all.
pub fn wanted() -> &'static [usize] {
    static WANTED: OnceLock<Vec<usize>> = OnceLock::new();
    WANTED.get_or_init(|| {
        let names = std::env::var(VARIABLE).unwrap_or_default();
        let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
        let is_wanted = |at: &usize| names.is_empty() || names.contains(&AREAS[*at].0);
        (0..AREAS.len()).filter(is_wanted).collect()
    })
}
