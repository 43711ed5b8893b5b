//! All unsafe code of this crate; see SAFETY.md.

#[cfg_attr(not(all(feature = "uring", target_os = "linux")), path = "no_ring.rs")]
pub(crate) mod ring;
pub(crate) mod signal;
