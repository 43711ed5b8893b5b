//! Law 12: after any crash every session is at a committed step. Workers are killed and stopped at random.
//!
//! Some seconds; longer with `LENO_SESSION_SECONDS`.
#![forbid(unsafe_code)]

mod support;

use leno_session::{SessionId, State};
use support::chaos;

#[test]
#[ignore = "it is the worker of the others"]
fn worker() {
    chaos::work(chaos::engine);
}

#[test]
fn sqlite_loses_and_doubles_nothing_when_workers_are_killed() {
    let folder = support::Folder::new("chaos");
    let address = format!("sqlite:{}", folder.file("store").display());
    chaos::run(&address, &folder.file("notes"), |_, _| {});
}

/// Images that someone has overwritten: those sessions are parked, and no other takes harm.
#[test]
fn damage_to_some_is_no_harm_to_others() {
    let folder = support::Folder::new("damage");
    let path = folder.file("store");
    let address = format!("sqlite:{}", path.display());
    let victims: Vec<SessionId> = (0..5).map(|_| SessionId::random()).collect();
    chaos::engine(&address).start_all("chain", victims.iter().map(|id| (*id, (7,)))).unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let mut left = victims.clone();
    chaos::run(&address, &folder.file("notes"), |sessions, kills| {
        let Some(id) = left.last().copied() else { return };
        let sql = "UPDATE leno_session SET image = substr(image, 1, 9) || randomblob(8) WHERE id = ?1 AND state <> 1";
        let is_damaged = kills % 2 == 1 && file.execute(sql, [id.as_bytes()]).unwrap() == 1;
        if is_damaged {
            left.pop();
        }
        if kills > 8 {
            // Whoever is still well ends with the others.
            left.drain(..).for_each(|id| drop(sessions.answer_once(id, "stop", b"stop")));
        }
    });
    let sessions = chaos::engine(&address);
    let parked = victims.iter().filter(|id| {
        let row = sessions.show(**id).unwrap();
        assert!(matches!(row.state, State::Parked | State::Done), "{row:?}");
        assert_eq!(row.state == State::Parked, !row.reason.is_empty());
        row.state == State::Parked
    });
    println!("{} were damaged and parked", parked.count());
}
