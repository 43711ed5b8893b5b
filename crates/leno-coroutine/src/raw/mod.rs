//! All unsafe code of this crate. Each module's header states the claim it rests on.

mod chain;
pub(crate) mod coroutine;
pub(crate) mod exit;
pub mod floor;
pub(crate) mod list;
pub(crate) mod local;
pub(crate) mod migrate;
pub(crate) mod ring;
pub(crate) mod scope;
pub(crate) mod shared;
pub(crate) mod suspender;
