//! All unsafe code of this crate. Each module's header states the claim it rests on.

pub(crate) mod anywhere;
pub(crate) mod closure;
pub(crate) mod entered;
pub(crate) mod epoll;
pub(crate) mod future;
pub(crate) mod lent;
pub(crate) mod plates;
pub(crate) mod queue;
pub(crate) mod scope;
#[cfg(target_os = "linux")]
pub(crate) mod signal;
pub(crate) mod site;
pub(crate) mod slots;
pub(crate) mod stack;
pub(crate) mod world;
