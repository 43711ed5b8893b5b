//! A scheduler is user code: who runs next is decided by a policy of a few lines, here the one whose
//! name comes first in the alphabet. Time is virtual, so an hour of sleep takes none.

use std::time::Duration;

use leno::kernel::policy::{Policy, Ready};
use leno::kernel::{Co, LocalSystem, Options, sleep, yield_now};

/// Whoever is ready, by name.
#[derive(Default)]
struct Alphabetical(Vec<(String, Co)>);

impl Policy for Alphabetical {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.push((ready.name.as_str().unwrap_or("").to_owned(), ready.co));
        self.0.sort();
    }

    fn pick(&mut self) -> Option<Co> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0).1) }
    }

    fn forget(&mut self, co: Co) {
        self.0.retain(|(_, other)| *other != co);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = LocalSystem::builder().policy(Alphabetical::default()).virtual_time().build();
    for name in ["carol", "alice", "bob"] {
        drop(system.spawn_with(&Options::new().name(name), move || {
            println!("{name} begins");
            yield_now();
            println!("{name} goes on");
            sleep(Duration::from_secs(3600));
            println!("{name} has slept");
        })?);
    }
    let report = system.run()?;
    println!("{report}, at {}", system.now());
    Ok(())
}
