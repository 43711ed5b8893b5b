//! Who goes first, decided while others wait.

use std::thread::Builder;

use leno::flexible::System;
use leno::flexible::synchroniser::{Preference, ReadWrite};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "flexible",
    shows: "Coroutines that threads can call decide for them: many read or one writes, and who goes\n\
            first is changed while they wait. The system says who waits for whom.",
    run: read_write,
    read: "leno::flexible::synchroniser, examples 15_flexible and 26_read_write",
};

/// Waits until so many wait: the system knows.
fn until_waiting(system: &System, count: usize) {
    while system.snapshot().blocked().len() < count {
        std::thread::yield_now();
    }
}

fn read_write() -> Result<String, String> {
    let system = System::new();
    let page = ReadWrite::new(&system, "page", "blank");
    let failed = |_| "a thread panicked".to_owned();
    let no_thread = |error: std::io::Error| error.to_string();
    let mut found = Vec::new();
    for preference in [Preference::Arrival, Preference::Writers, Preference::Readers] {
        let mut first = page.write().map_err(|error| error.to_string())?;
        *first = "draft";
        let (early, late) = std::thread::scope(|s| {
            let named = |name: &str| Builder::new().name(name.to_owned());
            let read = || page.read().map(|page| *page).ok();
            let write = || page.write().map(|mut page| *page = "final");
            let early = named("early reader").spawn_scoped(s, read).map_err(no_thread)?;
            until_waiting(&system, 1);
            named("writer").spawn_scoped(s, write).map_err(no_thread)?;
            until_waiting(&system, 2);
            let late = named("late reader").spawn_scoped(s, read).map_err(no_thread)?;
            until_waiting(&system, 3);
            if found.is_empty() {
                say!("{}", system.snapshot());
            }
            page.set_preference(preference);
            drop(first);
            Ok::<_, String>((early.join().map_err(failed)?, late.join().map_err(failed)?))
        })?;
        let (early, late) = (early.unwrap_or_default(), late.unwrap_or_default());
        say!(
            "{preference:?} first: the early reader finds the {early}, the late one the {late} page"
        );
        found.push([early, late]);
    }
    expect(&found, &vec![["draft", "final"], ["final", "final"], ["draft", "draft"]])?;
    Ok("three preferences, changed while a reader and a writer wait".to_owned())
}
