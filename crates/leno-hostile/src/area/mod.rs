//! The operations, by area.

use std::ops::Range;
use std::sync::OnceLock;

use crate::world::Cx;

pub mod coroutine;
pub mod misdeed;
pub mod ring;
pub mod scope;

/// An operation: its name and what it does.
pub type Act = (&'static str, fn(&Cx<'_>, u8, u8, u8));

/// Returns the tables of all areas; the first is that of misdeeds.
fn tables() -> Vec<&'static [Act]> {
    vec![misdeed::ACTS, coroutine::ACTS, scope::ACTS, ring::ACTS]
}

/// Returns all operations.
pub fn acts() -> &'static [Act] {
    static ALL: OnceLock<Vec<Act>> = OnceLock::new();
    ALL.get_or_init(|| tables().concat())
}

/// Returns which operations each area has.
pub fn areas() -> &'static [Range<usize>] {
    static ALL: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut next = 0;
        let range = |acts: &&[Act]| {
            let from = next;
            next += acts.len();
            from..next
        };
        tables().iter().map(range).collect()
    })
}
