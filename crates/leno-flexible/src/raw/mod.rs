//! All unsafe code of this crate: bodies whose stacks go from thread to thread.

pub(crate) mod migrant;
