//! Systems: several cores, and virtual time.

use std::time::Duration;

use leno::kernel::{self, LocalSystem, System};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "system",
    shows: "A system decides who runs. On two cores, work that has not started is shared out;\n\
            in virtual time, on one core, a night's sleep takes no time at all.",
    run: system,
    read: "leno::kernel, example 08_own_scheduler",
};

fn system() -> Result<String, String> {
    let cores = System::new(2).map_err(|error| error.to_string())?;
    let sum = cores.spawn(|| {
        let parts: Vec<_> = (0..10_000u64).map(|n| kernel::spawn(move || n * n)).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).sum::<u64>()
    });
    let sum = sum.join().map_err(|error| error.to_string())?;
    say!("sum of 10,000 squares, a coroutine each, on two cores: {sum}");
    expect(&sum, &333_283_335_000)?;
    let report = cores.shutdown(Duration::from_secs(10)).map_err(|error| error.to_string())?;
    say!("{report}");

    let night = LocalSystem::builder().virtual_time().build();
    for (name, hours) in [("owl", 3), ("lark", 9)] {
        drop(night.spawn(move || {
            kernel::sleep(Duration::from_secs(hours * 3600));
            say!("{name} wakes at {}", kernel::now());
        }));
    }
    night.run().map_err(|error| error.to_string())?;
    Ok("10,001 on two cores, two asleep for hours".to_owned())
}
