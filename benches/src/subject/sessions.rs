//! leno in the benches of sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use leno::frame::{Co, resumable};
use leno::session::store::{self, NewMessage};
use leno::session::{Pace as Rate, SessionId, Sessions, Stage, Wait};

use crate::bench::sessions::{Begin, Keeper, Pace, Waiting, link, note};
use crate::contender::Failure;

pub fn sessions() -> Vec<Keeper> {
    let waiting = Some(Waiting { fill: fill_waiting, work: answer_all });
    vec![Keeper { name: "leno", fill, work, waiting }]
}

#[resumable]
async fn chain(co: &mut Co<Wait, (), Stage>, seed: u64, note: String) -> usize {
    let (mut steps, mut hash) = (0_u32, seed);
    while steps != u32::MAX {
        steps += 1;
        hash = link(hash, steps);
        co.ctx().effect("link", hash.to_string());
        co.suspend(Wait::step()).await;
    }
    note.len()
}

/// The same, with an answer for each step.
#[resumable]
async fn dialogue(co: &mut Co<String, String, Stage>, seed: u64, note: String) -> usize {
    let (mut steps, mut hash) = (0_u32, seed);
    while steps != u32::MAX {
        co.suspend("And now?".into()).await;
        steps += 1;
        hash = link(hash, steps);
        co.ctx().effect("link", hash.to_string());
    }
    note.len()
}

fn engine(address: &str, pace: Pace) -> Result<Sessions, Failure> {
    let store = store::open(address).map_err(Failure::failed)?;
    let rate = Rate { batch: pace.batch, rounds: pace.rounds, ..Rate::default() };
    let sessions = Sessions::open_shared(store).register("chain", chain);
    Ok(sessions.register("dialogue", dialogue).pace(rate))
}

fn started(address: &str, kind: &str, count: u64) -> Result<(Sessions, Vec<SessionId>), Failure> {
    let sessions = engine(address, Pace { batch: 5000, rounds: 1 })?;
    let ids: Vec<SessionId> = (0..count).map(|_| SessionId::random()).collect();
    let new = ids.iter().zip(0_u64..).map(|(id, seed)| (*id, (seed, note())));
    sessions.start_all(kind, new).map_err(Failure::failed)?;
    Ok((sessions, ids))
}

fn fill(address: &str, count: u64) -> Result<(), Failure> {
    started(address, "chain", count).map(drop)
}

fn work(address: &str, pace: Pace, begin: Begin<'_>, time: Duration) -> Result<u64, Failure> {
    let sessions = engine(address, pace)?;
    begin()?;
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = stop.clone();
    drop(std::thread::spawn(move || {
        std::thread::sleep(time);
        is_over.store(true, Relaxed);
    }));
    sessions.work(&stop).map_err(Failure::failed)?;
    Ok(sessions.metrics().stored)
}

fn fill_waiting(address: &str, count: u64) -> Result<(), Failure> {
    let (sessions, ids) = started(address, "dialogue", count)?;
    sessions.work_off().map_err(Failure::failed)?;
    let answer = |to: SessionId| NewMessage { to, key: "first".into(), body: b"yes".to_vec() };
    let answers: Vec<NewMessage> = ids.into_iter().map(answer).collect();
    sessions.store().send(&answers).map(drop).map_err(Failure::failed)
}

fn answer_all(address: &str, pace: Pace) -> Result<u64, Failure> {
    engine(address, pace)?.work_off().map_err(Failure::failed)
}
