//! Files: random reads of a page each, by sixteen at once.
//!
//! The file is in memory, so this measures what a read costs beside the disk.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::external::{self, Tool};
use crate::outcome::{Outcome, Verdict};
use crate::{peers, subject};

pub const PAGE: usize = 4096;
pub const PAGES: u64 = 8192;
/// How many read at once.
pub const READERS: u64 = 16;

pub const FILE_READ: Bench = Bench {
    name: "file-read",
    unit: "ns",
    about: "16 read pages of 4 KiB at random places of a file that is in memory; per read",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = subject::file_read();
        contenders.push(contender("threads", by_threads));
        contenders.push(contender("tokio", by_tokio));
        contenders.push(contender("tokio-uring", by_tokio_uring));
        contenders.push(contender("may", by_may));
        let operations = scale.pick(8_000, 160_000);
        contenders.push(external::contender(Tool::Go, "file-read", READERS, operations));
        let (load, rounds) = (Load::Fixed(operations), Some(scale.pick(2, 7)));
        vec![Case { parameter: None, load, isolated: true, rounds, contenders }]
    },
    judge: |outcome: &Outcome| -> Vec<Verdict> {
        // Threads, may and Go have all processors; tokio and tokio-uring have one, as a local system has.
        let cores = ["threads", "may", "go"].map(|peer| ("leno cores", peer));
        let one = ["tokio", "tokio-uring"].map(|peer| ("leno", peer));
        cores
            .into_iter()
            .chain(one)
            .flat_map(|(leno, peer)| outcome.at_most(None, leno, peer, 1.0))
            .collect()
    },
};

/// Reads so many pages of the file with each reader; how long it took.
pub type Reads = fn(PathBuf, u64) -> Result<Duration, Failure>;

pub fn contender(name: &'static str, reads: Reads) -> Contender {
    Contender::measured(name, move |n| {
        let made = Made::new().map_err(Failure::failed)?;
        let took = reads(made.0.clone(), n / READERS)?;
        Ok(Turn::ns(took, n / READERS * READERS))
    })
}

/// Where a reader reads next: a number that looks random.
pub struct Places(u64);

impl Places {
    pub fn of(reader: u64) -> Places {
        Places(88_172_645_463_325_252 + reader)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % PAGES * PAGE as u64
    }
}

/// A file, which goes when this does.
struct Made(PathBuf);

impl Made {
    fn new() -> std::io::Result<Made> {
        let made = Made(std::env::temp_dir().join(format!("leno-bench-{}", std::process::id())));
        let mut file = File::create(&made.0)?;
        for _ in 0..PAGES {
            file.write_all(&[7; PAGE])?;
        }
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn by_threads(path: PathBuf, each: u64) -> Result<Duration, Failure> {
    let file = File::open(path).map_err(Failure::failed)?;
    let start = Instant::now();
    let read = |reader| {
        let (mut places, mut page) = (Places::of(reader), [0; PAGE]);
        (0..each).try_for_each(|_| file.read_exact_at(&mut page, places.next()))
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..READERS).map(|reader| scope.spawn(move || read(reader))).collect();
        all.into_iter().try_for_each(|one| one.join().expect("it reads"))
    })
    .map_err(Failure::failed)?;
    Ok(start.elapsed())
}

/// may has nothing for files: its coroutines block their workers, of which there are two.
fn by_may(path: PathBuf, each: u64) -> Result<Duration, Failure> {
    peers::may_on_two_workers();
    let file = Arc::new(File::open(path).map_err(Failure::failed)?);
    let start = Instant::now();
    let read = |reader| {
        let file = file.clone();
        let read = move || {
            let (mut places, mut page) = (Places::of(reader), [0; PAGE]);
            (0..each).try_for_each(|_| file.read_exact_at(&mut page, places.next()))
        };
        // SAFETY: what it calls keeps nothing of its thread.
        unsafe { may::coroutine::spawn(read) }
    };
    let all: Vec<_> = (0..READERS).map(read).collect();
    for one in all {
        one.join().map_err(|_| Failure::failed("it panicked"))?.map_err(Failure::failed)?;
    }
    Ok(start.elapsed())
}

/// As `tokio::fs` does it: by its pool of threads. It has no reads at a place, so each reader has the file
/// open, and seeks.
fn by_tokio(path: PathBuf, each: u64) -> Result<Duration, Failure> {
    use tokio::io::{AsyncReadExt, AsyncSeekExt, SeekFrom};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let path = Arc::new(path);
    let reads = async move {
        let start = Instant::now();
        let mut all = tokio::task::JoinSet::new();
        for reader in 0..READERS {
            let path = path.clone();
            all.spawn(async move {
                let mut file = tokio::fs::File::open(&*path).await?;
                let (mut places, mut page) = (Places::of(reader), vec![0; PAGE]);
                for _ in 0..each {
                    file.seek(SeekFrom::Start(places.next())).await?;
                    file.read_exact(&mut page).await?;
                }
                std::io::Result::Ok(())
            });
        }
        while let Some(ended) = all.join_next().await {
            ended.map_err(Failure::failed)?.map_err(Failure::failed)?;
        }
        Ok(start.elapsed())
    };
    runtime.map_err(Failure::failed)?.block_on(reads)
}

fn by_tokio_uring(path: PathBuf, each: u64) -> Result<Duration, Failure> {
    tokio_uring::start(async move {
        let file = tokio_uring::fs::File::open(path).await.map_err(Failure::failed)?;
        let file = std::rc::Rc::new(file);
        let start = Instant::now();
        let read = |reader| {
            let file = file.clone();
            tokio_uring::spawn(async move {
                let (mut places, mut page) = (Places::of(reader), vec![0; PAGE]);
                for _ in 0..each {
                    let (count, back) = file.read_at(page, places.next()).await;
                    page = back;
                    if count? != PAGE {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                }
                std::io::Result::Ok(())
            })
        };
        let all: Vec<_> = (0..READERS).map(read).collect();
        for one in all {
            one.await.map_err(Failure::failed)?.map_err(Failure::failed)?;
        }
        Ok(start.elapsed())
    })
}
