//! leno's side of the benches when it is not compiled in: nobody.

use std::sync::Arc;

use crate::bench::graphs::{CLUSTERS, Node, Point};
use crate::bench::resume::Shape;
use crate::bench::sessions::Keeper;
use crate::bench::sockets::Kind;
use crate::bench::tree::Tree;
use crate::contender::Contender;
use crate::relay::Plan;
use crate::serve::{Connections, Load};

pub fn resume(_: Shape) -> Vec<Contender> {
    vec![]
}

pub fn rings<S>(_: u64, _: S) -> Vec<Contender> {
    vec![]
}

pub fn create_run_finish() -> Vec<Contender> {
    vec![]
}

pub fn create_new_stack() -> Vec<Contender> {
    vec![]
}

pub fn first_resume() -> Vec<Contender> {
    vec![]
}

pub fn forced_unwind(_: usize) -> Vec<Contender> {
    vec![]
}

pub fn memory() -> Vec<Contender> {
    vec![]
}

pub fn migrate(_: usize) -> Vec<Contender> {
    vec![]
}

pub fn tree_walk(_: &Arc<Tree>) -> Vec<Contender> {
    vec![]
}

pub fn attach() -> Vec<Contender> {
    vec![]
}

pub fn preemption() -> Vec<Contender> {
    vec![]
}

pub fn gap(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn safepoints(_: crate::bench::safepoints::Work) -> Vec<Contender> {
    vec![]
}

pub fn entry_call() -> Vec<Contender> {
    vec![]
}

pub fn entry_reply() -> Vec<Contender> {
    vec![]
}

pub fn cores(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn savina(_: &str, _: u32, _: u64) -> Vec<Contender> {
    vec![]
}

pub fn spawn_sum() -> Vec<Contender> {
    vec![]
}

pub fn skynet() -> Vec<Contender> {
    vec![]
}

pub fn relay(_: Plan) -> Vec<Contender> {
    vec![]
}

pub fn relay_by_threads(_: Plan) -> Vec<Contender> {
    vec![]
}

pub fn relay_across_cores(_: Plan) -> Vec<Contender> {
    vec![]
}

pub fn select_8() -> Vec<Contender> {
    vec![]
}

pub fn timers_cancel() -> Vec<Contender> {
    vec![]
}

pub fn timers_fire() -> Vec<Contender> {
    vec![]
}

pub fn timeout() -> Vec<Contender> {
    vec![]
}

pub fn turns(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn wake(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn explore_buffer() -> Vec<Contender> {
    vec![]
}

pub fn explore_queue() -> Vec<Contender> {
    vec![]
}

pub fn servers(_: Kind, _: Connections, _: Load) -> Vec<Contender> {
    vec![]
}

pub fn pipeline() -> Vec<Contender> {
    vec![]
}

pub fn bfs(_: &Arc<Node>, _: u64) -> Vec<Contender> {
    vec![]
}

pub fn k_means(_: &Arc<Vec<Point>>, _: [Point; CLUSTERS]) -> Vec<Contender> {
    vec![]
}

pub fn graph_stream() -> Vec<Contender> {
    vec![]
}

pub fn frame_store(_: usize) -> Vec<Contender> {
    vec![]
}

pub fn frame_restore(_: usize) -> Vec<Contender> {
    vec![]
}

pub fn frame_resume(_: usize) -> Vec<Contender> {
    vec![]
}

pub fn frame_memory() -> Vec<Contender> {
    vec![]
}

pub fn http(_: Connections, _: Load) -> Vec<Contender> {
    vec![]
}

pub fn servers_on_all(_: Connections, _: Load) -> Vec<Contender> {
    vec![]
}

pub fn file_read() -> Vec<Contender> {
    vec![]
}

pub fn call(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn buffer(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn readers(_: u64) -> Vec<Contender> {
    vec![]
}

pub fn sessions() -> Vec<Keeper> {
    vec![]
}
