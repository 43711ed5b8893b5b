//! leno's side of the benches.
//!
//! One file per bench family, each returning leno's contenders of it. Nothing outside this folder
//! knows leno's interface.

mod actors;
mod cores;
mod create;
mod explore;
mod files;
mod flexible;
mod frames;
mod graphs;
mod http;
mod memory;
mod messages;
mod migrate;
mod pipeline;
mod preempt;
mod resume;
mod rings;
mod safepoints;
mod savina;
mod select;
mod sessions;
mod sockets;
mod spawn;
mod timers;
mod tree;
mod turns;
mod unwind;
mod wake;

pub use actors::{entry_call, entry_reply};
pub use cores::cores;
pub use create::{create_new_stack, create_run_finish, first_resume};
pub use explore::{explore_buffer, explore_queue};
pub use files::file_read;
pub use flexible::{buffer, call, readers};
pub use frames::{frame_memory, frame_restore, frame_resume, frame_store};
pub use graphs::{bfs, graph_stream, k_means};
pub use http::http;
pub use memory::memory;
pub use messages::{relay, relay_across_cores, relay_by_threads};
pub use migrate::migrate;
pub use pipeline::pipeline;
pub use preempt::{attach, gap, preemption};
pub use resume::resume;
pub use rings::rings;
pub use safepoints::safepoints;
pub use savina::savina;
pub use select::select_8;
pub use sessions::sessions;
pub use sockets::{servers, servers_on_all};
pub use spawn::{skynet, spawn_sum};
pub use timers::{timeout, timers_cancel, timers_fire};
pub use tree::tree_walk;
pub use turns::turns;
pub use unwind::forced_unwind;
pub use wake::wake;
