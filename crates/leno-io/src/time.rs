//! Time: sleeping, limits, beats.

pub use leno_kernel::sleep;
