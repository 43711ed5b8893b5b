//! As many coroutines as there is room for.

use std::cell::Cell;
use std::time::{Duration, Instant};

use leno::{Builder, Guards, ring, stack_figures};

use crate::tour::{Stop, expect, machine, progress, say};

pub(super) const STOP: Stop = Stop {
    name: "million",
    shows: "As many coroutines as the machine has room for, each with its own guarded stack,\n\
            all alive at once, hopping round a ring.",
    run: million,
    read: "docs/performance.md, leno bench",
};

/// How long making them may take: the whole tour is to be over in a minute, also beside other programs.
const PATIENCE: Duration = Duration::from_secs(15);

fn million() -> Result<String, String> {
    const STACK: usize = 16 * 1024;
    let guards = stack_figures().guards;
    let room = machine::available_bytes() / 2 / 4200;
    let wanted = if room >= 1_000_000 { 1_000_000 } else { room.clamp(1000, 100_000) };
    let count = wanted.min(machine::most_stacks(guards));
    match guards {
        _ if count == 1_000_000 => {}
        _ if count == wanted => say!("memory allows for {count} of a million here"),
        Guards::Protected => say!(
            "guards allow for {count} of a million here: they are made with mprotect, which takes \
             two of the\n{} mappings a process may have (vm.max_map_count); Linux 6.13 has lighter \
             ones",
            machine::max_map_count()
        ),
        _ => say!("{count} of a million here: each one is an OS thread (leno_baton)"),
    }
    let memory = || machine::process_bytes("VmRSS") + machine::process_bytes("VmPTE");
    let (hops, stop) = (Cell::new(0u64), Cell::new(false));
    let (count, bytes, nanoseconds) = ring::scope(|s| {
        let before = memory();
        let begun = Instant::now();
        let mut made = 0;
        for n in 0..count {
            if n % 10_000 == 0 {
                progress(&format!("{n} of {count} coroutines"), n, count);
                if begun.elapsed() > PATIENCE {
                    break;
                }
            }
            let member = Builder::new().stack_size(STACK);
            let body = || {
                while !stop.get() {
                    hops.set(hops.get() + 1);
                    ring::yield_now();
                }
            };
            s.spawn_with(member, body).map_err(|error| error.to_string())?;
            made += 1;
        }
        if made < count {
            say!("the machine is busy: {made} in {} seconds have to do", PATIENCE.as_secs());
        }
        let count = made;
        ring::yield_now();
        let bytes = memory().saturating_sub(before) / count;
        progress("", count, count);
        let (start, before) = (Instant::now(), hops.get());
        for round in 0..3 {
            progress("hopping", round, 3);
            ring::yield_now();
        }
        let taken = start.elapsed().as_nanos() as f64 / (hops.get() - before) as f64;
        progress("", 3, 3);
        expect(&hops.get(), &(4 * count as u64))?;
        stop.set(true);
        ring::yield_now();
        Ok::<_, String>((count, bytes, taken))
    })?;
    let figures = stack_figures();
    say!("{count} coroutines alive: {bytes} bytes each, {nanoseconds:.0} ns per hop");
    say!("afterwards: {} stacks in use, {} in the pool", figures.live, figures.pooled);
    Ok(format!("{count} coroutines, {bytes} bytes each, {nanoseconds:.0} ns per hop"))
}
