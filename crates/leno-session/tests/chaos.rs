//! Law 12: after any crash every session is at a committed step. Workers are killed and stopped at random.
//!
//! Some seconds; longer with `LENO_SESSION_SECONDS`.
//!
//! Not in `suite`: the leg of kills builds it with optimisations.
#![forbid(unsafe_code)]

#[path = "suite/support/mod.rs"]
mod support;

use rusqlite::ErrorCode;
use support::{chaos, zombie};

#[test]
#[ignore = "it is the worker of the others"]
fn worker() {
    chaos::work(chaos::engine);
}

#[test]
fn sqlite_loses_and_doubles_nothing_when_workers_are_killed() {
    let folder = support::Folder::new("chaos");
    let address = format!("sqlite:{}", folder.file("store").display());
    chaos::run(&address, &folder.file("notes"), |_| {});
}

#[test]
fn sqlite_fences_a_worker_that_was_stopped_in_a_step() {
    let folder = support::Folder::new("zombie");
    let address = format!("sqlite:{}", folder.file("store").display());
    zombie::is_fenced(&address, &folder);
}

/// Images that someone has overwritten: those sessions are quarantined, and no other takes harm.
#[test]
fn damage_to_some_is_no_harm_to_others() {
    let folder = support::Folder::new("damage");
    let path = folder.file("store");
    let address = format!("sqlite:{}", path.display());
    // The tables are there once it was opened.
    drop(chaos::engine(&address));
    let file = rusqlite::Connection::open(&path).unwrap();
    // Not for long: a worker that is stopped in the middle of a write goes on only if we do.
    file.busy_timeout(std::time::Duration::from_millis(50)).unwrap();
    let sql = "UPDATE leno_session SET image = substr(image, 1, 9) || randomblob(8) WHERE id = ?1 AND state <> 1";
    chaos::damage(&address, &folder.file("notes"), |id| match file.execute(sql, [id.as_bytes()]) {
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                // The second one if that worker was stopped while it changed what all of them share in memory.
                Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed)
            ) =>
        {
            false
        }
        changed => changed.unwrap() == 1,
    });
}
