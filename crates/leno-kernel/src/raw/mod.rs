//! All unsafe code of this crate. Each module's header states the claim it rests on.

pub(crate) mod entered;
pub(crate) mod scope;
pub(crate) mod stack;
