//! The benches: what each measures, with whom, and which target of the design it speaks about.
//!
//! One file per family. leno's side of each lives in [`crate::subject`], so that a change of leno's
//! interface touches nothing here.

use std::time::Duration;

use crate::contender::Contender;
use crate::outcome::{Outcome, Verdict};

pub mod actors;
mod components;
pub mod cores;
mod create;
pub mod explore;
pub mod files;
pub mod flexible;
pub mod frames;
mod fresh;
pub mod graphs;
pub mod hop;
pub mod http;
mod instructions;
pub mod memory;
pub mod messages;
pub mod migrate;
pub mod pipeline;
pub mod preempt;
pub mod resume;
pub mod rings;
pub mod safepoints;
pub mod savina;
pub mod select;
pub mod sessions;
pub mod sockets;
pub mod spawn;
pub mod timers;
pub mod tree;
pub mod turns;
pub mod unwind;
pub mod wake;

/// Peers a user may name; leno itself always takes part.
pub const PEERS: &[&str] = &[
    "corosensei",
    "generator",
    "may",
    "tokio",
    "async-executor",
    "async-io",
    "thread",
    "parking_lot",
    "actix",
    "ractor",
    "kameo",
    "plain",
    "queue",
    "dyn call",
    "callback",
    "iterator",
    "state machine",
    "async",
    "rayon",
    "row",
    "go",
    "luajit",
    "boost",
    "java",
];

/// One thing to measure.
pub struct Bench {
    pub name: &'static str,
    /// The unit of every figure of this bench.
    pub unit: &'static str,
    /// One line: what one operation does.
    pub about: &'static str,
    /// What the cases' parameter counts; empty when there is one case without a parameter.
    pub parameter: &'static str,
    pub chart: Chart,
    pub cases: fn(Scale) -> Vec<Case>,
    /// Compares what was measured with the targets.
    pub judge: fn(&Outcome) -> Vec<Verdict>,
}

/// How a bench is drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum Chart {
    /// A dot per contender, on a logarithmic axis.
    Dots,
    /// A line per contender over the parameter, both axes logarithmic.
    Curve,
}

/// All contenders at one value of the parameter.
pub struct Case {
    pub parameter: Option<u64>,
    pub load: Load,
    /// Each turn in a process of its own.
    pub isolated: bool,
    /// Fewer rounds than usual, for cases whose set-up takes seconds.
    pub rounds: Option<usize>,
    pub contenders: Vec<Contender>,
}

/// How many operations a turn has.
#[derive(Clone, Copy)]
pub enum Load {
    /// As many as fill a turn, a multiple of the granule.
    Filling {
        granule: u64,
    },
    Fixed(u64),
}

/// How much time to spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Quick,
    Full,
}

impl Case {
    /// One case without a parameter, its turns filled.
    pub fn only(contenders: Vec<Contender>) -> Vec<Self> {
        let load = Load::Filling { granule: 1 };
        vec![Self { parameter: None, load, isolated: false, rounds: None, contenders }]
    }
}

impl Scale {
    pub fn rounds(self) -> usize {
        self.pick(3, 15)
    }

    /// How long a turn should last.
    pub fn turn(self) -> Duration {
        Duration::from_millis(self.pick(4, 20))
    }

    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }

    pub fn name(self) -> &'static str {
        self.pick("quick", "full")
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Quick, Self::Full].into_iter().find(|s| s.name() == name)
    }
}

/// Every bench, in the order of the report.
pub fn all() -> &'static [Bench] {
    static ALL: &[Bench] = &[
        resume::DEPTH_0,
        resume::DEPTH_1,
        resume::DEPTH_4,
        resume::RETURN_1,
        resume::RETURN_4,
        hop::HOP,
        create::CREATE_RUN_FINISH,
        fresh::CREATE_NEW_STACK,
        fresh::FIRST_RESUME,
        unwind::FORCED_UNWIND,
        memory::MEMORY,
        migrate::MIGRATE,
        tree::TREE_WALK,
        graphs::BFS,
        graphs::K_MEANS,
        graphs::STREAM,
        components::MACHINE_CONTROL,
        instructions::INSTRUCTIONS,
        spawn::SPAWN_SUM,
        spawn::SKYNET,
        messages::PING_PONG_1,
        messages::PING_PONG_2,
        messages::STREAM_64,
        messages::STREAM_1,
        messages::STREAM_UNBOUNDED,
        messages::CHAIN_5,
        messages::CHAIN_5000,
        messages::RING,
        pipeline::PIPELINE,
        turns::YIELD,
        select::SELECT_8,
        timers::CANCEL,
        timers::FIRE,
        timers::TIMEOUT,
        wake::WAKE,
        flexible::CALL,
        flexible::BUFFER,
        flexible::READERS,
        preempt::ATTACH,
        preempt::COST,
        preempt::GAP,
        safepoints::SUM,
        safepoints::MATRIX,
        safepoints::HASH,
        safepoints::SORT,
        safepoints::FIB_OF,
        actors::CALL,
        actors::REPLY,
        cores::SPEED_UP,
        savina::PING_PONG,
        savina::THREAD_RING,
        savina::COUNTING,
        savina::FORK_JOIN,
        savina::CHAMENEOS,
        savina::PHILOSOPHERS,
        savina::BOUNDED_BUFFER,
        savina::SLEEPING_BARBER,
        savina::CIGARETTE_SMOKERS,
        savina::BANKING,
        savina::SIEVE,
        savina::FIBONACCI,
        frames::STORE,
        frames::RESTORE,
        frames::RESUME,
        frames::MEMORY,
        explore::BUFFER,
        explore::QUEUE,
        sockets::ECHO,
        sockets::ECHO_IDLE,
        sockets::CONNECT,
        http::HTTP,
        files::FILE_READ,
        sessions::SQLITE_SINGLE,
        sessions::SQLITE_BATCH,
        sessions::POSTGRES_SINGLE,
        sessions::POSTGRES_BATCH,
        sessions::RESTART,
    ];
    ALL
}
