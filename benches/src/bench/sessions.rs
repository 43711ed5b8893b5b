//! Sessions: durable steps on one database, by one process and by four, beside loops written by hand.
//!
//! A step hashes the one before and leaves its hash as an effect: a row is changed and a row added, in one durable
//! transaction. `row` keeps a row for each session as leno does: a lease with a token, a commit that is refused if the
//! token is old. `row locked` has no leases: it holds its rows locked while it makes their steps, so that a worker that
//! is stopped keeps others waiting, and a file has one worker at a time.

pub mod crew;
mod database;
mod rows_postgres;
mod rows_sqlite;

use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::database::Database;
use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::{Contender, Failure, Turn};
use crate::number;
use crate::outcome::{Outcome, Verdict};
use crate::subject;

/// How many sessions there are to make steps of.
const SESSIONS: u64 = 512;

pub const SQLITE_SINGLE: Bench = Bench {
    name: "session-sqlite-single",
    about: "one durable step of a session in a file, each by itself, by so many processes",
    cases: |scale| steps(Rc::new(Database::file()), Pace::SINGLE, scale),
    ..STEPS
};

pub const SQLITE_BATCH: Bench = Bench {
    name: "session-sqlite-batch",
    about: "the same, 32 steps a transaction and 20 transactions a lease",
    cases: |scale| steps(Rc::new(Database::file()), Pace::BATCH, scale),
    ..STEPS
};

pub const POSTGRES_SINGLE: Bench = Bench {
    name: "session-postgres-single",
    about: "one durable step of a session on a PostgreSQL server, each by itself, by so many processes",
    cases: |scale| steps(Rc::new(Database::server()), Pace::SINGLE, scale),
    ..STEPS
};

pub const POSTGRES_BATCH: Bench = Bench {
    name: "session-postgres-batch",
    about: "the same, 32 steps a transaction and 20 transactions a lease",
    cases: |scale| steps(Rc::new(Database::server()), Pace::BATCH, scale),
    ..STEPS
};

pub const RESTART: Bench = Bench {
    name: "session-restart",
    unit: "ns",
    about: "a process starts, finds so many sessions with an answer each in a file, and makes a step of all; per session",
    parameter: "sessions",
    chart: Chart::Dots,
    cases: |scale| {
        let count = scale.pick(5_000, 100_000);
        let database = Rc::new(Database::file());
        let keepers =
            keepers(&database.scheme()).into_iter().filter(|keeper| keeper.waiting.is_some());
        let contenders = keepers.map(|keeper| restarted(&database, keeper, count)).collect();
        let (load, rounds) = (Load::Fixed(count), Some(scale.pick(1, 2)));
        vec![Case { parameter: Some(count), load, isolated: false, rounds, contenders }]
    },
    judge: |outcome| {
        let cases = outcome.cases.iter().filter_map(|case| case.parameter);
        cases.filter_map(|count| outcome.at_most(Some(count), "leno", "row", LIMIT)).collect()
    },
};

/// What all benches of steps have in common.
const STEPS: Bench = Bench {
    name: "",
    unit: "ns",
    about: "",
    parameter: "processes",
    chart: Chart::Dots,
    cases: |_| vec![],
    judge: judge_steps,
};

/// 0.9 times as many steps a second, as times.
const LIMIT: f64 = 1.11;

fn judge_steps(outcome: &Outcome) -> Vec<Verdict> {
    let peers = ["row", "row locked"];
    let all = [1, 4].into_iter().flat_map(|processes| peers.map(|peer| (processes, peer)));
    all.filter_map(|(n, peer)| outcome.at_most(Some(n), "leno", peer, LIMIT)).collect()
}

/// How many sessions a worker has at once, and how many steps it makes of each before it looks for others.
#[derive(Clone, Copy)]
pub struct Pace {
    pub batch: usize,
    pub rounds: usize,
}

impl Pace {
    const SINGLE: Pace = Pace { batch: 1, rounds: 1 };
    const BATCH: Pace = Pace { batch: 32, rounds: 20 };
    const RESTART: Pace = Pace { batch: 256, rounds: 1 };
}

/// Called by a worker when it is ready: returns when it may begin.
pub type Begin<'a> = &'a mut dyn FnMut() -> Result<(), Failure>;

/// One way to keep sessions in a database and to make their steps.
#[derive(Clone, Copy)]
pub struct Keeper {
    pub name: &'static str,
    /// Puts so many sessions that go on for ever into an empty database.
    pub fill: fn(&str, u64) -> Result<(), Failure>,
    /// Makes steps of them, for so long. How many.
    pub work: fn(&str, Pace, Begin<'_>, Duration) -> Result<u64, Failure>,
    /// Sessions that wait for an answer.
    pub waiting: Option<Waiting>,
}

/// Sessions that have waited for an answer, which is there.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// Puts so many of them into an empty database.
    pub fill: fn(&str, u64) -> Result<(), Failure>,
    /// Opens the database and makes a step of each. How many.
    pub work: fn(&str, Pace) -> Result<u64, Failure>,
}

/// All that can keep sessions in such a database.
fn keepers(scheme: &str) -> Vec<Keeper> {
    let by_hand = match scheme {
        "sqlite" => rows_sqlite::keepers(),
        _ => rows_postgres::keepers(),
    };
    [subject::sessions(), by_hand].concat()
}

fn steps(database: Rc<Database>, pace: Pace, scale: Scale) -> Vec<Case> {
    let case = |processes: u64| {
        let contender = |keeper: Keeper| {
            let database = database.clone();
            Contender::measured(keeper.name, move |millis| {
                let place = database.empty()?;
                (keeper.fill)(place.address(), SESSIONS)?;
                let (count, took) =
                    crew::work(keeper.name, place.address(), pace, processes, millis)?;
                let rate = number::grouped((count as f64 / took.as_secs_f64()) as u64);
                Ok(Turn::ns(took, count).with_note(format!("{rate} steps a second")))
            })
        };
        let contenders = keepers(&database.scheme()).into_iter().map(contender).collect();
        let (load, rounds) = (Load::Fixed(scale.pick(150, 700)), Some(scale.pick(1, 7)));
        Case { parameter: Some(processes), load, isolated: false, rounds, contenders }
    };
    [1, 4].map(case).into()
}

fn restarted(database: &Rc<Database>, keeper: Keeper, count: u64) -> Contender {
    let (database, mut filled) = (database.clone(), None);
    Contender::measured(keeper.name, move |_| {
        let waiting = keeper.waiting.ok_or_else(|| Failure::failed("it has none that wait"))?;
        if filled.is_none() {
            let place = database.empty()?;
            (waiting.fill)(place.address(), count)?;
            filled = Some(place);
        }
        let place = filled.as_ref().expect("it was filled").copied()?;
        let (made, took) = crew::restart(keeper.name, place.address(), Pace::RESTART)?;
        if made != count {
            return Err(Failure::Failed(format!("{made} of {count} were resumed")));
        }
        Ok(Turn::ns(took, count).with_note(format!("{:.2} s for all", took.as_secs_f64())))
    })
}

/// What a session of a hand-written loop has for its state; leno's has the same as locals.
#[derive(Serialize, Deserialize)]
pub struct Chain {
    pub steps: u32,
    pub hash: u64,
    pub note: String,
}

/// What is in each session besides.
pub fn note() -> String {
    "a session has a page of notes ".repeat(8)
}

pub fn link(hash: u64, step: u32) -> u64 {
    (hash ^ u64::from(step)).wrapping_mul(0x100_0000_01b3).rotate_left(23)
}

impl Chain {
    fn new(hash: u64) -> Chain {
        Chain { steps: 0, hash, note: note() }
    }

    /// A step: the new state, and its effect.
    fn step(state: &[u8]) -> Result<(Vec<u8>, String), Failure> {
        let mut chain: Chain = postcard::from_bytes(state).map_err(Failure::failed)?;
        let effect = chain.advance();
        Ok((chain.bytes(), effect))
    }

    fn advance(&mut self) -> String {
        self.steps += 1;
        self.hash = link(self.hash, self.steps);
        self.hash.to_string()
    }

    fn bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a chain can be written")
    }
}
