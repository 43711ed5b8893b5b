//! A worker that is stopped in the middle of a step and goes on when the session is no longer its own.
//!
//! Nothing here depends on how fast anybody is: the worker says when it is in the step, and stays there until it is
//! told that the session has come to its end without it.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use leno_frame::{Co, resumable};
use leno_session::{SessionId, Stage, State, Wait};

use super::{Folder, chaos};

/// For a worker: a folder in which it leaves the file `entered`, and waits for the file `over`.
const MEET: &str = "LENO_SESSION_MEET";

const STEPS: u32 = 3;

#[resumable]
pub(crate) async fn careful(co: &mut Co<Wait, (), Stage>) -> u32 {
    for n in 1..=STEPS {
        co.ctx().effect("made", n.to_string());
        if n == 2 {
            meet();
        }
        co.suspend(Wait::step()).await;
    }
    STEPS
}

fn meet() {
    let Some(folder) = std::env::var_os(MEET) else { return };
    let folder = Path::new(&folder);
    std::fs::write(folder.join("entered"), "").unwrap();
    until("the session is over", || folder.join("over").exists());
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Killed, whatever happens.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        chaos::end(&mut self.0);
    }
}

/// What the worker commits when it goes on is fenced, seen by itself, and leaves no trace.
pub(crate) fn is_fenced(address: &str, folder: &Folder) {
    let (sessions, notes) = (chaos::engine(address), folder.file("notes"));
    let id = sessions.start("careful", &()).unwrap();
    let worker = Worker(chaos::worker(address, &notes).env(MEET, &folder.0).spawn().unwrap());
    until("the worker is in its step", || folder.file("entered").exists());
    chaos::signal("-STOP", &worker.0);
    let token = sessions.show(id).unwrap().token;
    let row = sessions.run_for(id, Duration::from_secs(60)).unwrap();
    assert_eq!((row.state, row.value::<u32>()), (State::Done, Some(STEPS)));
    assert!(row.token > token, "another lease, which ended the first");
    std::fs::write(folder.file("over"), "").unwrap();
    chaos::signal("-CONT", &worker.0);
    until("the worker was fenced", || chaos::fenced(&notes) > 0);
    let after = sessions.show(id).unwrap();
    assert_eq!((after.sequence, after.token, after.state), (row.sequence, row.token, State::Done));
    assert_eq!(after.sequence, u64::from(STEPS) + 1);
    let mut made = Vec::new();
    sessions
        .deliver(100, |effect| {
            made.push((effect.session, effect.body.clone()));
            Ok::<(), String>(())
        })
        .unwrap();
    let expected = (1..=STEPS).map(|n| (id, n.to_string().into_bytes()));
    assert_eq!(made, expected.collect::<Vec<(SessionId, Vec<u8>)>>(), "each effect once");
    println!("{} step was fenced", chaos::fenced(&notes));
}
