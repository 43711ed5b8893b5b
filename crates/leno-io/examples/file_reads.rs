//! How many random reads of 4 KiB are done in a second, by which way.
//!
//! ```console
//! $ cargo run --release -p leno-io --example file_reads [MEGABYTES] [ROUNDS]
//! ```
//! Each line has the median of the rounds, and the least and most. *inline* is a thread that calls
//! `pread`; *at once* asks for what is in memory, as files do by default; *ring* and *helpers* always
//! go that way. With direct I/O nothing is in memory.

use std::error::Error;
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
        let file = file.clone();
        system.spawn(move || {
            let (mut page, mut lot) =
                (Box::new(Page([0; PAGE])), 88_172_645_463_325_252 + u64::from(n));
            let mut count = 0_u32;
            while start.elapsed() < ROUND {
                for _ in 0..16 {
                    file.read_exact_at(&mut page.0, next(&mut lot) % pages * PAGE as u64)?;
                    count += 1;
                }
            }
            Ok::<_, std::io::Error>(count)
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

fn print(name: &str, mut rounds: Vec<f64>) {
    rounds.sort_by(f64::total_cmp);
    let (least, most) = (rounds[0], rounds[rounds.len() - 1]);
    println!("{name:<34} {:>9.0}/s  ({least:.0} to {most:.0})", rounds[rounds.len() / 2]);
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
        let way = |name, backend, assume_cached| Way { name, backend, assume_cached, coroutines };
        [
            way("at once", Backend::Ring, true),
            way("ring", Backend::Ring, false),
            way("helpers", Backend::Helpers, false),
        ]
    };
    for (title, flags) in [("in memory", 0), ("direct", libc::O_DIRECT)] {
        println!("{title}, files go through: {}", leno_io::fs::backend());
        let inline: Result<Vec<_>, _> =
            (0..rounds).map(|_| inline(&file.0, pages, flags)).collect();
        print("  inline, a thread", inline?);
        for coroutines in [1, 64] {
            for way in ways(coroutines) {
                if flags != 0 && way.assume_cached {
                    continue;
                }
                let result: Result<Vec<_>, _> =
                    (0..rounds).map(|_| by(&way, &file.0, pages, flags)).collect();
                print(&format!("  {}, {coroutines} in flight", way.name), result?);
            }
        }
    }
    Ok(())
}
