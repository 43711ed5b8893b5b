//! Files and folders, for coroutines, threads and futures alike; the names are those of `std::fs`.
//!
//! # Waiting
//! - *Blocking.* A coroutine parks until the system is done, and others of its core run meanwhile. A
//!   thread blocks. A future uses the `_async` twin, which also works on other executors.
//! - *Cancellation.* When the calling coroutine is to exit, the system is asked to stop, and the
//!   coroutine exits when it has stopped: until then it may use the coroutine's memory. What was done
//!   nevertheless is given, so that nothing is lost; then the coroutine exits at its next wait.
//!   What a dropped future wanted is stopped too, and nobody waits for it.
//! - While a coroutine's own stack unwinds it cannot park. Files can be used nevertheless, by
//!   destructors that write what is left, say: the thread blocks for as long as that takes.
//! - *Errors* say what was to be done to which file. Virtual time refuses files, because nobody could
//!   say when the disk is done; what was refused has the kind `Unsupported`.
//! - *Panics*: inside a future that a core polls, with advice to use the `_async` twin.
//! - *Time-outs*: [`File::set_timeout`] and [`OpenOptions::timeout`] limit operations on one file;
//!   [`time`](crate::time) limits anything.
//!
//! # Ways
//! What is in memory is opened and read at once, and after some of that others run first. Else the system does it: by io_uring, where there is one, or on
//! helper threads; see [`backend()`]. Folders and names are always looked at by helper threads. Pipes
//! and terminals that are opened as files can be waited for by a ring; where helpers do it, an exit waits
//! until something comes.
//!
//! # Examples
//! Many files at once, on one core.
//! ```
//! use leno_io::fs;
//! use leno_kernel::LocalSystem;
//!
//! let system = LocalSystem::new();
//! let texts: Vec<_> = ["comm", "stat", "status"]
//!     .map(|name| system.spawn(move || fs::read_to_string(format!("/proc/self/{name}"))))
//!     .into();
//! system.run()?;
//! for text in texts {
//!     assert!(!text.join()??.is_empty());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
pub(crate) mod action;
mod attributes;
mod backend;
pub(crate) mod buffer;
pub(crate) mod caller;
mod contents;
pub(crate) mod ended;
mod file;
pub(crate) mod flight;
mod for_futures;
mod helper;
mod names;
mod open;
mod options;
mod read_dir;
mod read_write;
mod transfer;

pub use about::{
    canonicalize, canonicalize_async, exists, exists_async, metadata, metadata_async, read_link,
    read_link_async, set_permissions, set_permissions_async, symlink_metadata,
    symlink_metadata_async,
};
pub use backend::{Backend, backend};
pub use contents::{
    copy, copy_async, read, read_async, read_to_string, read_to_string_async, write, write_async,
};
pub use file::File;
pub use names::{
    create_dir, create_dir_all, create_dir_all_async, create_dir_async, hard_link, hard_link_async,
    remove_dir, remove_dir_all, remove_dir_all_async, remove_dir_async, remove_file,
    remove_file_async, rename, rename_async, symlink, symlink_async,
};
pub use options::OpenOptions;
pub use read_dir::{DirEntry, ReadDir, read_dir, read_dir_async};
