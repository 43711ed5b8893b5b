//! Messages over channels: two that answer each other, on one core and across two; a stream from core
//! to core; a chain; a ring. What the members do is in [`crate::relay`].

use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::Contender;
use crate::external::{self, Tool};
use crate::outcome::{Outcome, Verdict};
use crate::relay::ends::{
    AsyncChannel, Crossbeam, Flume, Kanal, KanalAsync, May, Std, Tokio, TokioUnbounded,
};
use crate::relay::{Plan, Room, contender, crew, plain};
use crate::subject;

/// What every channel of one core is compared with. corosensei is not among them: what it does here
/// is written by hand and is no channel.
const ONE_CORE: [&str; 9] = [
    "may",
    "tokio",
    "tokio kanal",
    "async-executor",
    "async-executor flume",
    "async-executor kanal",
    "go",
    "boost",
    "java",
];

const THREADS: [&str; 4] = ["thread", "thread crossbeam-channel", "thread flume", "thread kanal"];

/// By how much threads may not come nearer to coroutines (Stadler 2011).
const THREADS_OVER_COROUTINES: f64 = 7.0;

pub const PING_PONG_1: Bench = Bench {
    name: "ping-pong-1",
    unit: "ns",
    about: "two coroutines of one core answer each other by rendezvous; per message",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let plan = Plan::Ring(2);
        let mut contenders = one_core(plan);
        contenders.extend(others("ring", 2, scale.pick(200_000, 2_000_000)));
        vec![filling(plan, false, contenders)]
    },
    judge: |outcome| ahead(outcome, None, &ONE_CORE),
};

pub const PING_PONG_2: Bench = Bench {
    name: "ping-pong-2",
    unit: "ns",
    about: "two answer each other by rendezvous, each on a core of its own; per message",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let plan = Plan::Ring(2);
        let mut contenders = two_cores(plan);
        contenders.push(external::contender(Tool::Go, "ring-2", 2, scale.pick(50_000, 500_000)));
        vec![filling(plan, true, contenders)]
    },
    judge: |outcome| ahead(outcome, None, &[&THREADS[..], &["leno threads"]].concat()),
};

pub const STREAM_64: Bench = Bench {
    name: "stream-64",
    unit: "ns",
    about: "a million messages from core to core through a channel with room for 64; per message",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| stream(scale, Room::Some(64), Some(64)),
    judge: judge_stream,
};

pub const STREAM_1: Bench = Bench {
    name: "stream-1",
    about: "the same with room for one",
    cases: |scale| stream(scale, Room::Some(1), Some(1)),
    ..STREAM_64
};

pub const STREAM_UNBOUNDED: Bench = Bench {
    name: "stream-unbounded",
    about: "the same with room for any number",
    cases: |scale| stream(scale, Room::Any, None),
    ..STREAM_64
};

pub const CHAIN_5: Bench = Bench {
    name: "chain-5",
    unit: "ns",
    about: "messages pass down a chain of 5 coroutines by rendezvous; per hop",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let plan = Plan::Chain(5);
        let mut contenders = one_core(plan);
        contenders.extend(threads(plan));
        contenders.extend(others("chain", 5, scale.pick(200_000, 2_000_000)));
        vec![filling(plan, false, contenders)]
    },
    judge: judge_chain,
};

pub const CHAIN_5000: Bench = Bench {
    name: "chain-5000",
    about: "the same for a chain of 5,000",
    cases: |scale| {
        let plan = Plan::Chain(5_000);
        let mut contenders = one_core(plan);
        // So many threads take some 20 µs a hop: they carry fewer messages. Those that spin are left
        // out: 5,000 that spin take a second a message.
        let few = threads(plan).into_iter().filter(|t| t.name != "thread kanal");
        let n = scale.pick(20, 200) * plan.granule();
        contenders.extend(few.map(|t| t.with_operations(scale.pick(1, 4) * plan.granule())));
        contenders.extend(others("chain", 5_000, n));
        vec![Case {
            parameter: None,
            load: Load::Fixed(n),
            isolated: true,
            rounds: Some(scale.pick(1, 5)),
            contenders,
        }]
    },
    ..CHAIN_5
};

pub const RING: Bench = Bench {
    name: "ring",
    unit: "ns per hop",
    about: "a token goes round a ring of coroutines by rendezvous",
    parameter: "coroutines",
    chart: Chart::Curve,
    cases: |scale| {
        let sizes = scale.pick(&[100, 10_000][..], &[100, 10_000, 1_000_000]);
        sizes.iter().map(|&k| ring(k, scale)).collect()
    },
    judge: |outcome| {
        let at = |k| ahead(outcome, Some(k), &ONE_CORE);
        [100, 10_000, 1_000_000].into_iter().flat_map(at).collect()
    },
};

fn ring(k: u64, scale: Scale) -> Case {
    let plan = Plan::Ring(k);
    let laps = (scale.pick(100_000, 1_000_000) / k).max(2);
    let mut contenders = one_core(plan);
    // A million take external programs half a minute to make.
    let tools = others("ring", k, laps * k);
    contenders.extend(tools.filter(|tool| k < 1_000_000 || tool.name == "go"));
    let rounds = if k >= 1_000_000 { Some(3) } else { Some(scale.pick(2, 9)) };
    Case { parameter: Some(k), load: Load::Fixed(laps * k), isolated: true, rounds, contenders }
}

fn stream(scale: Scale, room: Room, go: Option<u64>) -> Vec<Case> {
    // With room for one each message may put someone to sleep: fewer say as much.
    let n = scale.pick(100_000, 1_000_000) / if room == Room::Some(1) { 10 } else { 1 };
    let mut contenders = two_cores(Plan::Stream(room));
    contenders.extend(go.map(|room| external::contender(Tool::Go, "stream", room, n)));
    let rounds = Some(scale.pick(2, 9));
    vec![Case { parameter: None, load: Load::Fixed(n), isolated: true, rounds, contenders }]
}

fn filling(plan: Plan, isolated: bool, contenders: Vec<Contender>) -> Case {
    let load = Load::Filling { granule: plan.granule() };
    Case { parameter: None, load, isolated, rounds: None, contenders }
}

/// Coroutines and tasks of one thread.
fn one_core(plan: Plan) -> Vec<Contender> {
    let mut all = subject::relay(plan);
    all.extend([
        contender::<plain::Meeting>("corosensei", plan, plain::crew),
        contender::<May>("may", plan, crew::may),
        contender::<Tokio>("tokio", plan, crew::tokio),
        contender::<KanalAsync>("tokio kanal", plan, crew::tokio),
        contender::<AsyncChannel>("async-executor", plan, crew::async_executor),
        contender::<Flume>("async-executor flume", plan, crew::async_executor),
        contender::<KanalAsync>("async-executor kanal", plan, crew::async_executor),
    ]);
    all
}

/// The same with a thread for each member.
fn threads(plan: Plan) -> Vec<Contender> {
    let mut all = subject::relay_by_threads(plan);
    all.extend([
        contender::<Std>("thread", plan, crew::threads),
        contender::<Crossbeam>("thread crossbeam-channel", plan, crew::threads),
        contender::<Flume>("thread flume", plan, crew::threads),
        contender::<Kanal>("thread kanal", plan, crew::threads),
    ]);
    all
}

fn two_cores(plan: Plan) -> Vec<Contender> {
    let mut all = subject::relay_across_cores(plan);
    all.extend(threads(plan));
    all.push(contender::<May>("may", plan, crew::may_on_two));
    all.push(if plan == Plan::Stream(Room::Any) {
        contender::<TokioUnbounded>("tokio", plan, crew::tokio_on_two)
    } else {
        contender::<Tokio>("tokio", plan, crew::tokio_on_two)
    });
    all.push(contender::<KanalAsync>("tokio kanal", plan, crew::tokio_on_two));
    all
}

fn others(bench: &'static str, k: u64, n: u64) -> impl Iterator<Item = Contender> {
    [Tool::Go, Tool::Boost, Tool::Java]
        .into_iter()
        .map(move |t| external::contender(t, bench, k, n))
}

fn ahead(outcome: &Outcome, case: Option<u64>, peers: &[&str]) -> Vec<Verdict> {
    peers.iter().filter_map(|peer| outcome.at_most(case, "leno", peer, 1.0)).collect()
}

fn judge_stream(outcome: &Outcome) -> Vec<Verdict> {
    ahead(outcome, None, &["thread kanal", "thread crossbeam-channel", "tokio", "tokio kanal"])
}

fn judge_chain(outcome: &Outcome) -> Vec<Verdict> {
    // may's channels have room for any number, so most messages find their receiver awake.
    let alike: Vec<&str> = ONE_CORE.into_iter().filter(|&peer| peer != "may").collect();
    let mut verdicts = ahead(outcome, None, &alike);
    verdicts.extend(outcome.at_most(None, "leno unbounded", "may", 1.0));
    let apart = |threads: &&str| outcome.at_least(threads, "leno", THREADS_OVER_COROUTINES);
    verdicts.extend(["leno threads"].iter().chain(&THREADS).filter_map(apart));
    verdicts
}
