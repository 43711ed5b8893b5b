//! leno's side of the benches.
//!
//! One file per bench family, each returning leno's contenders of it. Nothing outside this folder
//! knows leno's interface.

mod create;
mod memory;
mod migrate;
mod resume;
mod rings;
mod spawn;
mod tree;
mod unwind;

pub use create::{create_new_stack, create_run_finish, first_resume};
pub use memory::memory;
pub use migrate::migrate;
pub use resume::resume;
pub use rings::rings;
pub use spawn::{skynet, spawn_sum};
pub use tree::tree_walk;
pub use unwind::forced_unwind;
