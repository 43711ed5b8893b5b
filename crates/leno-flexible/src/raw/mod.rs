//! All unsafe code of this crate: bodies whose stacks go from thread to thread, and on which stack code runs.

pub(crate) mod migrant;
pub(crate) mod place;
