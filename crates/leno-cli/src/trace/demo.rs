//! What is run for the pictures.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

use leno::channel::{Mutex, Named, bounded, shared};
use leno::kernel::log::{Log, mark};
use leno::kernel::report::Report;
use leno::kernel::{self, LocalSystem, Options, Reason, System, park};
use leno::picture::Names;

/// How many pages are read.
const PAGES: u64 = 8;

/// A pipeline on two cores: a reader, two parsers, a counter; and one who looks now and then.
pub(super) fn pipeline() -> Result<(Log, Names), String> {
    let system = System::builder().cores(2).log(100_000).build();
    let system = system.map_err(|error| format!("cannot build a system: {error}"))?;
    let (pages, to_parse) = shared::bounded::<u64>(2);
    let (words, to_count) = shared::channel::<u64>();
    let names = Names::new().object(pages.object(), "pages").object(words.object(), "words");
    let named = |name: &'static str| Options::new().name(name);
    let reader = system.spawn_with(&named("reader"), move || {
        for page in 1..=PAGES {
            work(150);
            pages.send(page).expect("the parsers end last");
        }
        mark("all pages read");
    });
    let parsers = ["parser 1", "parser 2"].map(|name| {
        let (to_parse, words) = (to_parse.clone(), words.clone());
        system.spawn_with(&named(name), move || {
            for page in &to_parse {
                work(400);
                words.send(page * 100).expect("the counter ends last");
            }
        })
    });
    drop((to_parse, words));
    let counter = system.spawn_with(&named("counter"), move || {
        let mut total = 0;
        for words in &to_count {
            work(100);
            total += words;
        }
        mark(format!("{total} words"));
    });
    let watcher = system.spawn_with(&named("watcher"), || {
        for _ in 0..3 {
            kernel::sleep(Duration::from_micros(500));
            mark("still here");
        }
    });
    for handle in [reader, counter, watcher].into_iter().chain(parsers) {
        handle.join().map_err(|error| format!("the pipeline failed: {error}"))?;
    }
    Ok((system.log(), names))
}

/// Keeps a core busy for some microseconds, roughly.
fn work(micros: u64) {
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_micros(micros) {
        black_box(());
    }
}

/// A system in which nobody can go on: two who took two locks in opposite order, and others.
pub(super) fn stuck() -> Result<Report, String> {
    let system = LocalSystem::new();
    let named = |name: &'static str| Options::new().name(name);
    let failed = |error| format!("cannot spawn: {error}");
    let press = Rc::new(Mutex::local(()).named("printing press"));
    let manuscript = Rc::new(Mutex::local(()).named("manuscript"));
    let author = both(&manuscript, &press);
    drop(system.spawn_with(&named("author"), author).map_err(failed)?);
    let printer = both(&press, &manuscript);
    let printer = system.spawn_with(&named("printer"), printer).map_err(failed)?;
    let (letters, inbox) = bounded::<()>(1).named("letters");
    let (proofs, unread) = bounded(1).named("proofs");
    let bookseller = move || {
        let _ = printer.join();
        drop((letters, unread));
    };
    drop(system.spawn_with(&named("bookseller"), bookseller).map_err(failed)?);
    for name in ["reader", "reviewer"] {
        let inbox = inbox.clone();
        let body = move || drop(inbox.recv());
        drop(system.spawn_with(&named(name), body).map_err(failed)?);
    }
    let translator = move || while proofs.send("proof").is_ok() {};
    drop(system.spawn_with(&named("translator"), translator).map_err(failed)?);
    let cat = || {
        let _ = park(Reason::Passive);
    };
    drop(system.spawn_with(&named("cat"), cat).map_err(failed)?);
    match system.run() {
        Err(deadlock) => Ok(*deadlock.report),
        Ok(_) => Err("the stuck system went on".to_owned()),
    }
}

/// Takes one lock, and then the other.
fn both(one: &Rc<Mutex<()>>, other: &Rc<Mutex<()>>) -> impl FnOnce() + 'static {
    let (one, other) = (one.clone(), other.clone());
    move || {
        let _one = one.lock();
        kernel::yield_now();
        let _other = other.lock();
    }
}
