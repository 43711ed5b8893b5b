//! All unsafe code of this crate. Each module's header states the claim it rests on.

pub(crate) mod coroutine;
pub(crate) mod exit;
pub(crate) mod list;
pub(crate) mod local;
mod queue;
pub(crate) mod ring;
pub(crate) mod ring_scope;
pub(crate) mod scope;
#[cfg(not(leno_baton))]
pub(crate) mod shared;
pub(crate) mod suspender;
