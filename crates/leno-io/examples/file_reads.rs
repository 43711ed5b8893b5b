//! How many random reads of 4 KiB are done in a second, by which way.
//!
//! ```console
//! $ cargo run --release -p leno-io --example file_reads [MEGABYTES] [ROUNDS]
//! ```
//! Each line has the median of the rounds, and the least and most. *inline* is a thread that calls
//! `pread`; *at once* asks for what is in memory, as files do by default; *ring* and *helpers* always
//! go that way; *futures* copy through memory of the operation's own. With direct I/O nothing is in
//! memory.

use std::error::Error;
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use leno_io::fs::{Backend, File};
use leno_kernel::LocalSystem;

const PAGE: usize = 4096;
const ROUND: Duration = Duration::from_millis(300);

#[repr(align(4096))]
struct Page([u8; PAGE]);

/// A number that looks random, and the next one.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn inline(path: &Path, pages: u64, flags: i32) -> Result<f64, Box<dyn Error>> {
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let (mut page, mut lot, mut count) = (Box::new(Page([0; PAGE])), 88_172_645_463_325_252, 0);
    let start = Instant::now();
    while start.elapsed() < ROUND {
        for _ in 0..16 {
            file.read_exact_at(&mut page.0, next(&mut lot) % pages * PAGE as u64)?;
            count += 1;
        }
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

struct Way {
    name: &'static str,
    backend: Backend,
    assume_cached: bool,
    is_future: bool,
    coroutines: u32,
}

fn by(way: &Way, path: &Path, pages: u64, flags: i32) -> Result<f64, Box<dyn Error>> {
    let mut options = File::options();
    options.read(true).custom_flags(flags);
    options.backend(way.backend).assume_cached(way.assume_cached);
    let file = Rc::new(options.open(path)?);
    let system = LocalSystem::new();
    let start = Instant::now();
    let read = |n: u32| {
        let (file, mut page) = (file.clone(), Box::new(Page([0; PAGE])));
        let (mut lot, mut count) = (88_172_645_463_325_252 + u64::from(n), 0_u32);
        let mut place = move || next(&mut lot) % pages * PAGE as u64;
        if way.is_future {
            return system.spawn_future(async move {
                while start.elapsed() < ROUND {
                    for _ in 0..16 {
                        file.read_at_async(&mut page.0, place()).await?;
                        count += 1;
                    }
                }
                Ok::<_, std::io::Error>(count)
            });
        }
        system.spawn(move || {
            while start.elapsed() < ROUND {
                for _ in 0..16 {
                    file.read_exact_at(&mut page.0, place())?;
                    count += 1;
                }
            }
            Ok(count)
        })
    };
    let reads: Vec<_> = (0..way.coroutines).map(read).collect();
    system.run()?;
    let elapsed = start.elapsed().as_secs_f64();
    let mut count = 0;
    for read in reads {
        count += read.join()??;
    }
    Ok(f64::from(count) / elapsed)
}

struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// CPU time of this process so far, in seconds, by the system's tick of 10 ms.
fn cpu_time() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}

fn measure(
    name: &str,
    rounds: usize,
    mut round: impl FnMut() -> Result<f64, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let before = cpu_time()?;
    let mut results = Vec::new();
    for _ in 0..rounds {
        results.push(round()?);
    }
    let reads: f64 = results.iter().map(|rate| rate * ROUND.as_secs_f64()).sum();
    let cpu = (cpu_time()? - before) / reads * 1e6;
    results.sort_by(f64::total_cmp);
    let (least, most) = (results[0], results[rounds - 1]);
    let median = results[rounds / 2];
    println!("{name:<34} {median:>9.0}/s  ({least:.0} to {most:.0})  {cpu:.2} us of CPU each");
    Ok(())
}

/// Whole files of 4 KiB, opened and read again and again.
fn whole_files(rounds: usize) -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("leno-whole-file-{}", std::process::id()));
    let file = Gone(path);
    std::fs::write(&file.0, [7; PAGE])?;
    println!("open, read, close");
    measure("  inline, a thread", rounds, || {
        let (mut count, start) = (0, Instant::now());
        while start.elapsed() < ROUND {
            std::fs::read(&file.0)?;
            count += 1;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    })?;
    for (name, assume_cached) in [("at once", true), ("helpers", false)] {
        measure(&format!("  {name}, 1 in flight"), rounds, || {
            let (system, path) = (LocalSystem::new(), file.0.clone());
            let reads = system.spawn(move || {
                let (mut count, start) = (0, Instant::now());
                let mut options = File::options();
                options.read(true).assume_cached(assume_cached).backend(Backend::Helpers);
                while start.elapsed() < ROUND {
                    let mut all = Vec::with_capacity(PAGE + 1);
                    options.open(&path)?.read_to_end(&mut all)?;
                    count += 1;
                }
                Ok::<_, std::io::Error>(f64::from(count) / start.elapsed().as_secs_f64())
            });
            system.run()?;
            Ok(reads.join()??)
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let megabytes: u64 = arguments.next().map_or(Ok(128), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let path = std::env::temp_dir().join(format!("leno-file-reads-{}", std::process::id()));
    let file = Gone(path);
    std::fs::write(&file.0, vec![7; (megabytes << 20) as usize])?;
    std::fs::File::open(&file.0)?.sync_all()?;
    let pages = (megabytes << 20) / PAGE as u64;
    let ways = |coroutines| {
        let way = |name, backend, assume_cached, is_future| Way {
            name,
            backend,
            assume_cached,
            is_future,
            coroutines,
        };
        [
            way("at once", Backend::Ring, true, false),
            way("ring", Backend::Ring, false, false),
            way("ring, futures", Backend::Ring, false, true),
            way("helpers", Backend::Helpers, false, false),
        ]
    };
    whole_files(rounds)?;
    for (title, flags) in [("in memory", 0), ("direct", libc::O_DIRECT)] {
        println!("{title}, files go through: {}", leno_io::fs::backend());
        measure("  inline, a thread", rounds, || inline(&file.0, pages, flags))?;
        for coroutines in [1, 64] {
            for way in ways(coroutines) {
                if flags != 0 && way.assume_cached {
                    continue;
                }
                let name = format!("  {}, {coroutines} in flight", way.name);
                measure(&name, rounds, || by(&way, &file.0, pages, flags))?;
            }
        }
    }
    Ok(())
}
