//! Workers that are killed, stopped and continued at random, while sessions run.
//!
//! The supervisor is a test; its workers are the same program, told to run the ignored test `worker`. Each session is a
//! chain: every step hashes the one before, and leaves its hash as an effect. In the end the chains are computed anew.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use leno_frame::{Co, resumable};
use leno_session::{Pace, Query, SessionId, Sessions, Stage, State, Store, Wait, store};

use super::zombie;

pub(crate) const TTL: Duration = Duration::from_millis(400);

fn link(hash: u64, step: u32) -> u64 {
    (hash ^ u64::from(step)).wrapping_mul(0x100_0000_01b3).rotate_left(23)
}

/// Goes on until it is told to stop. Most steps wait for nothing, some for a moment or for the word.
#[resumable]
async fn chain(co: &mut Co<Wait, Option<String>, Stage>, seed: u64) -> (u32, u64) {
    let (mut steps, mut hash) = (0_u32, seed);
    loop {
        steps += 1;
        hash = link(hash, steps);
        co.ctx().effect("link", hash.to_string());
        let wait = if steps.is_multiple_of(7) {
            Wait::answer_within(steps, Duration::from_millis(1))
        } else {
            Wait::step()
        };
        if co.suspend(wait).await.is_some() {
            return (steps, hash);
        }
    }
}

pub(crate) fn engine(address: &str) -> Sessions {
    // The kills are not the sessions' fault.
    let pace = Pace { batch: 8, rounds: 5, ttl: TTL, attempts: u32::MAX, ..Pace::default() };
    let sessions = Sessions::open_shared(open(address)).register("chain", chain);
    sessions.register("careful", zombie::careful).pace(pace)
}

/// The server may be away for a moment.
pub(crate) fn open(address: &str) -> Arc<dyn Store> {
    let begun = Instant::now();
    loop {
        match store::open(address) {
            Err(error) if error.is_passing() && begun.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(50));
            }
            store => return store.unwrap(),
        }
    }
}

const STORE: &str = "LENO_SESSION_STORE";
const NOTES: &str = "LENO_SESSION_NOTES";

/// What a worker process does, for ever. It notes how many of its steps were fenced.
pub(crate) fn work(engine: impl Fn(&str) -> Sessions) {
    let Ok(address) = std::env::var(STORE) else { return };
    let sessions = engine(&address);
    let notes = std::env::var(NOTES).unwrap_or_default();
    let noted = sessions.clone();
    std::thread::spawn(move || {
        let mut file = OpenOptions::new().append(true).create(true).open(notes).unwrap();
        let mut fenced = 0;
        loop {
            let now = noted.metrics().fenced;
            (fenced..now).for_each(|_| file.write_all(b"f").unwrap());
            fenced = now;
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    sessions.work(&AtomicBool::new(false)).unwrap();
}

/// A worker process.
pub(crate) fn worker(address: &str, notes: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker", "--ignored", "--nocapture"]);
    command.env(STORE, address).env(NOTES, notes).stdout(Stdio::null()).stdin(Stdio::null());
    command
}

/// How many steps of workers were fenced, by their own notes.
pub(crate) fn fenced(notes: &Path) -> u64 {
    std::fs::metadata(notes).map_or(0, |data| data.len())
}

/// So many worker processes, of which some die now and then.
pub(crate) struct Workers {
    address: String,
    notes: PathBuf,
    running: Vec<Child>,
    stopped: Option<(Child, Instant)>,
    random: u64,
    pub(crate) kills: u32,
    pub(crate) zombies: u32,
}

impl Workers {
    pub(crate) fn start(address: &str, notes: &Path, count: usize) -> Self {
        let random = std::env::var("LENO_SEED").ok().and_then(|seed| seed.parse().ok());
        let random = random.unwrap_or_else(|| u64::from(std::process::id()) | 1);
        println!("LENO_SEED={random}");
        let notes = notes.to_owned();
        let mut workers = Workers {
            address: address.into(),
            notes,
            running: Vec::new(),
            stopped: None,
            random,
            kills: 0,
            zombies: 0,
        };
        for _ in 0..count {
            let worker = workers.spawn();
            workers.running.push(worker);
        }
        workers
    }

    fn spawn(&self) -> Child {
        worker(&self.address, &self.notes).spawn().unwrap()
    }

    fn random(&mut self, below: u64) -> u64 {
        // xorshift
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Something happens to somebody.
    pub(crate) fn strike(&mut self) {
        let pause = 5 + self.random(40);
        std::thread::sleep(Duration::from_millis(pause));
        let victim = self.random(self.running.len() as u64) as usize;
        if self.stopped.is_none() && self.random(8) == 0 {
            let new = self.spawn();
            let zombie = std::mem::replace(&mut self.running[victim], new);
            signal("-STOP", &zombie);
            self.stopped = Some((zombie, Instant::now()));
            self.zombies += 1;
            return;
        }
        if let Some((zombie, _)) = self.stopped.take_if(|(_, since)| since.elapsed() > TTL * 3) {
            signal("-CONT", &zombie);
            let mut known = std::mem::replace(&mut self.running[victim], zombie);
            end(&mut known);
            self.kills += 1;
            return;
        }
        let new = self.spawn();
        let mut old = std::mem::replace(&mut self.running[victim], new);
        end(&mut old);
        self.kills += 1;
    }

    /// All go on from here.
    pub(crate) fn spare(&mut self) {
        if let Some((zombie, _)) = self.stopped.take() {
            signal("-CONT", &zombie);
            self.running.push(zombie);
        }
    }
}

pub(crate) fn signal(name: &str, child: &Child) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

pub(crate) fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.spare();
        self.running.iter_mut().for_each(end);
    }
}

/// For how long to strike: some seconds, or what `LENO_SESSION_SECONDS` says.
pub(crate) fn seconds() -> Duration {
    let seconds = std::env::var("LENO_SESSION_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// Waits until all of these sessions have ended, failed, or are quarantined; the rest of them by state.
pub(crate) fn settled(sessions: &Sessions) -> BTreeMap<State, u64> {
    let begun = Instant::now();
    loop {
        let count = sessions.count().unwrap();
        let is_settled = |state: &State| {
            state.has_ended() || matches!(state, State::Failed | State::Quarantined)
        };
        if count.keys().all(is_settled) {
            return count;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "they do not come to an end: {count:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn start(sessions: &Sessions, count: u64) -> HashMap<SessionId, u64> {
    let ids: HashMap<SessionId, u64> = (0..count).map(|seed| (SessionId::random(), seed)).collect();
    sessions.start_all("chain", ids.iter().map(|(id, seed)| (*id, (*seed,)))).unwrap();
    ids
}

/// Tells all to stop, and checks these chains: no step lost, none done twice, each effect once.
pub(crate) fn check(sessions: &Sessions, ids: &HashMap<SessionId, u64>) -> u64 {
    let rows = sessions.list(&Query::default()).unwrap();
    for row in rows.iter().filter(|row| !row.state.has_ended()) {
        sessions.answer_once(row.id, "stop", b"stop").unwrap();
    }
    settled(sessions);
    let mut effects: HashMap<SessionId, Vec<(u64, String)>> = HashMap::new();
    let collect = |effects: &mut HashMap<SessionId, Vec<_>>| {
        sessions.deliver(5000, |effect| {
            let body = String::from_utf8(effect.body.clone()).unwrap();
            effects.entry(effect.session).or_default().push((effect.sequence, body));
            Ok::<(), String>(())
        })
    };
    while collect(&mut effects).unwrap() > 0 {}
    let mut total = 0;
    let rows = sessions.list(&Query::default()).unwrap();
    for row in rows.iter().filter(|row| ids.contains_key(&row.id)) {
        assert_eq!(row.state, State::Done, "{row:?}");
        let (steps, hash): (u32, u64) = row.value().unwrap();
        let chain = (1..=steps).scan(ids[&row.id], |hash, step| {
            *hash = link(*hash, step);
            Some(*hash)
        });
        let chain: Vec<u64> = chain.collect();
        assert_eq!(chain.last(), Some(&hash), "the chain is broken");
        assert_eq!(
            row.sequence,
            u64::from(steps) + 1,
            "a commit for each step, and one for the end"
        );
        assert_eq!(row.effects, u64::from(steps));
        let mut effects = effects.remove(&row.id).unwrap();
        effects.sort();
        let expected: Vec<_> = (1..).zip(chain.iter().map(u64::to_string)).collect();
        assert_eq!(effects, expected, "one effect for each step");
        total += u64::from(steps);
    }
    total
}

/// The whole of it.
pub(crate) fn run(address: &str, notes: &Path, mut meanwhile: impl FnMut(u32)) {
    let sessions = engine(address);
    let ids = start(&sessions, 40);
    let mut workers = Workers::start(address, notes, 4);
    let begun = Instant::now();
    while begun.elapsed() < seconds() || workers.kills < 10 {
        workers.strike();
        meanwhile(workers.kills);
    }
    workers.spare();
    let steps = check(&sessions, &ids);
    println!(
        "{} kills, {} zombies, {} steps fenced; {steps} steps = {steps} effects, 0 lost, 0 doubled",
        workers.kills,
        workers.zombies,
        fenced(notes)
    );
}

/// The same, while someone overwrites images: `damage` does so if nobody has the session, and tells whether. Those are
/// quarantined in the end, with a reason, and all others are whole.
pub(crate) fn damage(address: &str, notes: &Path, damage: impl Fn(SessionId) -> bool) {
    let victims: Vec<SessionId> = (0..5).map(|_| SessionId::random()).collect();
    engine(address).start_all("chain", victims.iter().map(|id| (*id, (7,)))).unwrap();
    let mut left = victims.clone();
    run(address, notes, |kills| {
        // Whoever is not damaged by then ends with the others.
        left.pop_if(|id| kills % 2 == 1 && damage(*id));
    });
    let sessions = engine(address);
    let quarantined = victims.iter().filter(|id| {
        let row = sessions.show(**id).unwrap();
        assert!(matches!(row.state, State::Quarantined | State::Done), "{row:?}");
        assert_eq!(row.state == State::Quarantined, !row.reason.is_empty());
        row.state == State::Quarantined
    });
    println!("{} were damaged and quarantined", quarantined.count());
}
