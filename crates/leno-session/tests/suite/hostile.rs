//! Steps, values and stores that do what they can to end workers: these go on, and say what has happened.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::support::hooked::{Hand, Hooked};
use crate::support::with_nul::{self, good};
use leno_frame::{Co, resumable};
use leno_session::store::{Commit, Lease, Result as Stored};
use leno_session::{
    Memory, Pace, Query, SessionError, SessionId, Sessions, Sqlite, Stage, State, Store,
    StoreError, Wait, store,
};
use serde::{Deserialize, Serialize};

type Order = Co<Wait, Option<String>, Stage>;

/// Its `Drop` panics, with another one as often as its number says.
struct Payload(u32);

impl Drop for Payload {
    fn drop(&mut self) {
        match self.0 {
            0 => panic!("the last payload"),
            n => panic_any(Payload(n - 1)),
        }
    }
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(180), "not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Workers run a session that is all right, to its end.
#[track_caller]
fn are_at_work(sessions: &Sessions) {
    let id = sessions.start("good", &(1_u32,)).unwrap();
    until("a good session comes to its end", || sessions.show(id).unwrap().state == State::Done);
}

#[resumable]
async fn poison(co: &mut Order, n: u32) -> u32 {
    let _answer = co.suspend(Wait::step()).await;
    if n > 0 {
        panic_any(Payload(n));
    }
    n
}

#[test]
fn workers_outlive_a_payload_whose_drop_panics() {
    let sessions = Sessions::open(Memory::new()).register("good", good).register("poison", poison);
    let workers = sessions.workers(2);
    let bad = [1_u32, 2, 100].map(|n| sessions.start("poison", &(n,)).unwrap());
    for id in bad {
        until("it has failed", || sessions.show(id).unwrap().state == State::Failed);
        let reason = sessions.show(id).unwrap().reason;
        assert_eq!(reason, "it panicked with something that is not text");
    }
    are_at_work(&sessions);
    assert_eq!((workers.running(), sessions.health().workers), (2, 2));
    assert!(sessions.health().is_well());
    workers.drain().unwrap();
    assert_eq!(sessions.health().workers, 0);
}

/// Not those that are made to find out what it looks like.
const ARMED: u32 = 77;

#[derive(Serialize, Deserialize)]
struct Spiteful(u32);

impl Drop for Spiteful {
    fn drop(&mut self) {
        if self.0 == ARMED {
            panic_any(Payload(1));
        }
    }
}

/// It is dropped when the session is stored and waits, and again when it returns.
#[resumable]
async fn spiteful(co: &mut Order, n: u32) -> u32 {
    let value = Spiteful(n);
    let _answer = co.suspend(Wait::answer("well?")).await;
    value.0
}

#[test]
fn workers_outlive_a_value_whose_drop_panics() {
    let sessions =
        Sessions::open(Memory::new()).register("good", good).register("spiteful", spiteful);
    let workers = sessions.workers(2);
    let ids = [0; 4].map(|_| sessions.start("spiteful", &(ARMED,)).unwrap());
    for id in ids {
        until("it waits", || sessions.show(id).unwrap().state == State::Waiting);
    }
    are_at_work(&sessions);
    for id in ids {
        sessions.answer(id, "done").unwrap();
        until("it fails", || sessions.show(id).unwrap().state == State::Failed);
    }
    are_at_work(&sessions);
    assert_eq!(workers.running(), 2);
    workers.drain().unwrap();
}

/// Panics at every second call of these operations, so many times.
struct Panics {
    left: AtomicU32,
    operations: &'static [&'static str],
}

impl Hand for Panics {
    fn before(&self, operation: &str, _: &[Commit]) -> Stored<()> {
        if !self.operations.contains(&operation) {
            return Ok(());
        }
        let left = self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        if left.is_ok_and(|left| left % 2 == 0) {
            panic_any(Payload(1));
        }
        Ok(())
    }
}

#[test]
fn workers_outlive_a_store_that_panics() {
    for operations in [&["lease"][..], &["commit"], &["wait"], &["sweep"]] {
        let store = Arc::new(Hooked::new(Panics { left: AtomicU32::new(5), operations }));
        let pace = Pace { ttl: Duration::from_millis(50), ..Pace::default() };
        let sessions = Sessions::open_shared(store.clone()).register("good", good).pace(pace);
        let workers = sessions.workers(2);
        if operations == ["sweep"] {
            let _panicked = sessions.sweep();
        } else {
            let calls = || {
                let _started = sessions.start("good", &(1_u32,)).unwrap();
                store.hand.left.load(SeqCst) == 0
            };
            until("it has panicked", calls);
        }
        store.hand.left.store(0, SeqCst);
        are_at_work(&sessions);
        until("all is well again", || sessions.health().is_well());
        assert_eq!(workers.running(), 2, "{operations:?}");
        workers.drain().unwrap();
    }
}

#[test]
fn a_store_that_panics_is_an_error_to_those_who_ask() {
    let hand = Panics { left: AtomicU32::new(u32::MAX - 1), operations: &["create", "send"] };
    let sessions = Sessions::open(Hooked::new(hand)).register("good", good);
    let started = (0..2).filter_map(|_| sessions.start("good", &(1_u32,)).err());
    let errors: Vec<SessionError> = started.collect();
    assert!(matches!(errors[..], [SessionError::Store(StoreError::Faulty(_))]), "{errors:?}");
}

/// Sessions at the end of their numbers.
struct Endless;

impl Hand for Endless {
    fn leased(&self, leases: &mut Vec<Lease>) {
        let odd = |lease: &&mut Lease| lease.kind == "poison";
        leases.iter_mut().filter(odd).for_each(|lease| lease.sequence = u64::MAX);
    }
}

#[test]
fn a_sequence_that_has_no_next_is_quarantined() {
    let sessions =
        Sessions::open(Hooked::new(Endless)).register("good", good).register("poison", poison);
    let workers = sessions.workers(1);
    let id = sessions.start("poison", &(0_u32,)).unwrap();
    until("it is quarantined", || sessions.show(id).unwrap().state == State::Quarantined);
    let reason = sessions.show(id).unwrap().reason;
    assert_eq!(reason, "quarantined: its sequence is 18446744073709551615");
    are_at_work(&sessions);
    assert_eq!(sessions.metrics().quarantined, 1);
    workers.drain().unwrap();
}

/// Cannot hold effects of one topic, and says so in its own way.
struct Picky(fn() -> StoreError);

impl Hand for Picky {
    fn before(&self, _: &str, steps: &[Commit]) -> Stored<()> {
        let is_bad = |commit: &Commit| commit.effects.iter().any(|effect| effect.topic == "bad");
        if steps.iter().any(is_bad) { Err(self.0()) } else { Ok(()) }
    }
}

#[resumable]
async fn worker_of(co: &mut Order, topic: String) -> u32 {
    co.ctx().effect(&topic, "x");
    let _answer = co.suspend(Wait::step()).await;
    1
}

#[test]
fn a_step_that_cannot_be_stored_fails_its_session_only() {
    let errors: [fn() -> StoreError; 3] = [
        || StoreError::Refused("no such topics".into()),
        || StoreError::Damaged("no such topics".into()),
        || panic!("no such topics"),
    ];
    for error in errors {
        let sessions = Sessions::open(Hooked::new(Picky(error))).register("of", worker_of);
        let topics = (0..10).map(|n| if n == 4 { "bad" } else { "fine" });
        let ids: Vec<_> = topics.map(|topic| (SessionId::random(), (topic,))).collect();
        sessions.start_all("of", ids.clone()).unwrap();
        sessions.work_off().unwrap();
        for (id, (topic,)) in ids {
            let row = sessions.show(id).unwrap();
            if topic == "bad" {
                assert_eq!((row.state, row.effects), (State::Failed, 0));
                assert!(row.reason.contains("no such topics"), "{}", row.reason);
            } else {
                assert_eq!(row.state, State::Done, "{row:?}");
            }
        }
        assert_eq!((sessions.metrics().isolated, sessions.metrics().failed), (1, 1));
    }
}

/// A store whose text has no NUL bytes, as PostgreSQL's.
#[test]
fn text_with_a_nul_byte_is_cleaned_or_refused() {
    let folder = crate::support::Folder::new("nul");
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(Memory::new()), Arc::new(Sqlite::open(folder.file("store")).unwrap())];
    for store in stores {
        with_nul::is_cleaned_or_refused(Sessions::open_shared(store));
    }
}

/// Nobody can read it, for ever.
struct Gone;

impl Hand for Gone {
    fn before(&self, operation: &str, _: &[Commit]) -> Stored<()> {
        if operation == "lease" { Err(StoreError::Damaged("it is gone".into())) } else { Ok(()) }
    }
}

#[test]
fn drain_says_that_a_worker_has_ended_early() {
    let sessions = Sessions::open(Hooked::new(Gone)).register("good", good);
    let workers = sessions.workers(2);
    until("both have ended", || workers.running() == 0);
    let health = sessions.health();
    assert_eq!((health.workers, health.retrying, health.ended), (0, 0, 2));
    assert!(!health.is_well() && health.since.is_some());
    assert_eq!(sessions.metrics().ended, 2);
    let gone = SessionError::Store(StoreError::Damaged("it is gone".into()));
    assert_eq!((health.error.as_ref(), workers.drain()), (Some(&gone), Err(gone.clone())));
}

/// Away for a while.
struct Away(AtomicBool);

impl Hand for Away {
    fn before(&self, _: &str, _: &[Commit]) -> Stored<()> {
        let is_away = self.0.load(SeqCst);
        if is_away { Err(StoreError::Unavailable("it is away".into())) } else { Ok(()) }
    }
}

#[test]
fn a_store_that_is_away_is_seen_and_waited_for() {
    let store = Arc::new(Hooked::new(Away(AtomicBool::new(false))));
    let sessions = Sessions::open_shared(store.clone()).register("good", good);
    let workers = sessions.workers(2);
    are_at_work(&sessions);
    store.hand.0.store(true, SeqCst);
    until("both see it", || sessions.health().retrying == 2);
    let health = sessions.health();
    assert_eq!(health.error.unwrap().to_string(), "the store cannot be reached: it is away");
    assert_eq!((health.workers, health.ended), (2, 0));
    store.hand.0.store(false, SeqCst);
    are_at_work(&sessions);
    until("all is well again", || sessions.health().is_well());
    assert_eq!(sessions.health().error, None);
    workers.drain().unwrap();
}

#[test]
fn what_was_delivered_before_a_panic_is_confirmed() {
    let sessions = Sessions::open(Memory::new()).register("of", worker_of);
    let pace = Pace { ttl: Duration::ZERO, ..Pace::default() };
    (0..3).for_each(|_| assert!(sessions.start("of", &("fine",)).is_ok()));
    sessions.work_off().unwrap();
    let (sessions, mut count) = (sessions.pace(pace), 0);
    let delivered = catch_unwind(AssertUnwindSafe(|| {
        sessions.deliver(10, |_| {
            count += 1;
            if count == 3 { panic!("the post office burns") } else { Ok::<(), String>(()) }
        })
    }));
    assert!(delivered.is_err());
    assert_eq!(sessions.deliver(10, |_| Ok::<(), String>(())).unwrap(), 1, "the others were");
}

#[resumable]
async fn answered(co: &mut Order) -> u32 {
    let mut count = 0;
    while co.suspend(Wait::answer("and?")).await.is_some_and(|answer| answer != "end") {
        count += 1;
    }
    count
}

#[test]
fn workers_delete_messages_that_were_taken_long_ago() {
    let folder = crate::support::Folder::new("sweep");
    let path = folder.file("store");
    let pace = Pace { remember: Duration::ZERO, ..Pace::default() };
    let sessions = Sessions::open(Sqlite::open(&path).unwrap()).register("answered", answered);
    let id = sessions.start("answered", &()).unwrap();
    sessions.run(id).unwrap();
    (0..20).for_each(|n| sessions.answer(id, &n.to_string()).unwrap());
    sessions.work_off().unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    let count = || {
        file.query_row("SELECT count(*) FROM leno_inbox", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((count(), sessions.sweep().unwrap(), count()), (20, 0, 20), "for a week they stay");
    let sessions = sessions.pace(pace);
    let workers = sessions.workers(1);
    until("they are deleted", || count() == 0);
    workers.drain().unwrap();
    assert_eq!(sessions.metrics().swept, 20);
    assert_eq!(sessions.answer_once(id, "last", b"end").unwrap(), leno_session::Sent::Queued);
    assert_eq!(sessions.run(id).unwrap().text(), "20");
}

const STORE: &str = "LENO_SESSION_STORE";
const ATTEMPTS: u32 = 2;

#[resumable]
async fn killer(co: &mut Order) -> u32 {
    let _answer = co.suspend(Wait::step()).await;
    if std::env::var_os(STORE).is_some() {
        std::process::abort();
    }
    7
}

fn with_killer(address: &str) -> Sessions {
    let pace = Pace { ttl: Duration::from_millis(300), attempts: ATTEMPTS, ..Pace::default() };
    let sessions = Sessions::open_shared(store::open(address).unwrap());
    sessions.register("good", good).register("killer", killer).pace(pace)
}

#[test]
#[ignore = "it is the worker of the next"]
fn worker() {
    let Ok(address) = std::env::var(STORE) else { return };
    let sessions = with_killer(&address);
    let stop = Arc::new(AtomicBool::new(false));
    let (looked, seen) = (sessions.clone(), stop.clone());
    std::thread::spawn(move || {
        let is_over =
            |state: State| matches!(state, State::Done | State::Quarantined | State::Failed);
        while !looked.count().unwrap().into_keys().all(is_over) {
            std::thread::sleep(Duration::from_millis(10));
        }
        seen.store(true, SeqCst);
    });
    sessions.work(&stop).unwrap();
}

#[test]
fn a_session_that_aborts_its_process_is_quarantined_and_its_batch_goes_on() {
    let folder = crate::support::Folder::new("killer");
    let address = format!("sqlite:{}", folder.file("store").display());
    let sessions = with_killer(&address);
    let bad = sessions.start("killer", &()).unwrap();
    let ids: Vec<_> = (0..9).map(|_| (SessionId::random(), (1_u32,))).collect();
    sessions.start_all("good", ids).unwrap();
    let mut deaths = 0;
    loop {
        let (_crate, worker) = concat!(module_path!(), "::worker").split_once("::").unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", worker, "--ignored"]).env(STORE, &address);
        let output = command.stdin(Stdio::null()).output().unwrap();
        if output.status.success() {
            break;
        }
        deaths += 1;
        // The first one is not known to be its fault.
        assert!(deaths <= ATTEMPTS + 1, "{:?}", sessions.count());
    }
    let row = sessions.show(bad).unwrap();
    let reason = "quarantined: 2 attempts at its next step have ended their process, or outlived their lease";
    assert_eq!((row.state, row.reason.as_str()), (State::Quarantined, reason));
    let rows = sessions.list(&Query { kind: Some("good".into()), ..Query::default() }).unwrap();
    assert!(rows.iter().all(|row| row.state == State::Done), "{rows:?}");
    assert_eq!((rows.len(), deaths), (9, ATTEMPTS + 1));
    // Where it does no harm, it can be retried.
    sessions.retry(bad).unwrap();
    assert_eq!(sessions.run(bad).unwrap().text(), "7");
}
