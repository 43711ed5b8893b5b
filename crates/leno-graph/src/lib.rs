//! Graphs of nodes and channels (Porsev 2023): the mode is chosen first, and decides what the compiler
//! lets a graph do.
#![forbid(unsafe_code)]

mod channel;
mod check;
mod cx;
mod ends;
mod error;
mod event_loop;
mod flat;
mod futures;
mod graph;
mod join;
mod mode;
mod parallel;
mod plan;
mod receiver;
mod run;
mod select;
mod sender;
mod sequential;
mod source;
mod state;

pub use cx::{Cx, FreeCx, FutureCx};
pub use ends::{Ends, In, Out};
pub use error::{BuildError, Deadlock, Wait};
pub use event_loop::EventLoop;
pub use flat::Flat;
pub use futures::{ReceiveFuture, SendFuture, SendStatus};
pub use graph::{Chosen, Graph, Joinable, Wire};
pub use join::{Join, JoinAll};
pub use mode::{Determinism, Deterministic, NonDeterministic, Parallel, Schedule, Sequential};
pub use receiver::{Outlet, Receiver};
pub use run::{NodeId, Run, Temperature};
pub use select::{Select, Side};
pub use sender::{Inlet, Sender};
pub use source::{Source, Tap};
pub use state::Counters;
