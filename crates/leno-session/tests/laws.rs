//! The laws of stores, of those that need no server.
#![forbid(unsafe_code)]

mod support;

use leno_session::store::Store;
use leno_session::{Memory, Sqlite, laws};

#[test]
fn memory_obeys_the_laws() {
    laws::all(&Memory::new());
}

#[test]
fn sqlite_obeys_the_laws() {
    let folder = support::Folder::new("laws");
    laws::all(&Sqlite::open(folder.file("store")).unwrap());
}

/// A coroutine parks while the store works, so two of one core get on side by side.
#[test]
fn a_coroutine_may_use_a_store() {
    let folder = support::Folder::new("coroutine");
    let store = Sqlite::open(folder.file("store")).unwrap();
    let system = leno_kernel::LocalSystem::new();
    let handles = [store.clone(), store]
        .map(|store| system.spawn(move || laws::law_5_all_or_nothing(&store)));
    system.run().unwrap();
    for handle in handles {
        handle.join().unwrap();
    }
}

/// What another process has stored is there.
#[test]
fn a_store_is_opened_again() {
    let folder = support::Folder::new("again");
    let path = folder.file("store");
    laws::law_5_all_or_nothing(&Sqlite::open(&path).unwrap());
    let counted = Sqlite::open(&path).unwrap().count().unwrap();
    assert_eq!(counted.values().sum::<u64>(), 2, "{counted:?}");
}

#[test]
fn what_is_no_store_is_refused() {
    let folder = support::Folder::new("wrong");
    std::fs::write(
        folder.file("text"),
        "this is no database, but long enough to look like one".repeat(40),
    )
    .unwrap();
    let Err(error) = Sqlite::open(folder.file("text")) else { panic!("it was opened") };
    assert!(error.to_string().starts_with("the store cannot be read: "), "{error}");
    assert!(Sqlite::open(folder.file("no/such/folder")).is_err());
    let path = folder.file("later");
    drop(Sqlite::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(error) = Sqlite::open(&path) else { panic!("it was opened") };
    assert_eq!(error.to_string(), "the store is of version 99; this build knows 1");
}
