//! leno in the bench of files.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leno::io::fs::{Backend, File};
use leno::kernel::{LocalSystem, System};

use crate::bench::files::{PAGE, Places, READERS, contender};
use crate::contender::{Contender, Failure};

pub fn file_read() -> Vec<Contender> {
    vec![
        // Asks for what is in memory first.
        contender("leno", |path, each| read(path, each, None)),
        contender("leno cores", read_by_cores),
        // As futures, which an idle core takes over though they have begun.
        contender("leno movable", read_by_futures),
        contender("leno ring", |path, each| read(path, each, Some(Backend::Ring))),
        contender("leno helpers", |path, each| read(path, each, Some(Backend::Helpers))),
    ]
}

fn read(path: PathBuf, each: u64, by: Option<Backend>) -> Result<Duration, Failure> {
    let mut options = File::options();
    options.read(true);
    if let Some(by) = by {
        options.backend(by).assume_cached(false);
    }
    let file = Rc::new(options.open(path).map_err(Failure::failed)?);
    let system = LocalSystem::new();
    let start = Instant::now();
    let read = |reader| {
        let file = file.clone();
        system.spawn(move || read_pages(&file, reader, each))
    };
    let all: Vec<_> = (0..READERS).map(read).collect();
    system.run().map_err(Failure::failed)?;
    let took = start.elapsed();
    for one in all {
        one.join().map_err(Failure::failed)?.map_err(Failure::failed)?;
    }
    Ok(took)
}

/// With all processors, as threads have them.
fn read_by_cores(path: PathBuf, each: u64) -> Result<Duration, Failure> {
    let file = Arc::new(File::open(path).map_err(Failure::failed)?);
    let system = System::new(2).map_err(Failure::failed)?;
    let start = Instant::now();
    let read = |reader| {
        let file = file.clone();
        system.spawn(move || read_pages(&file, reader, each))
    };
    let all: Vec<_> = (0..READERS).map(read).collect();
    for one in all {
        one.join().map_err(Failure::failed)?.map_err(Failure::failed)?;
    }
    Ok(start.elapsed())
}

/// The same by futures, which may move between cores.
fn read_by_futures(path: PathBuf, each: u64) -> Result<Duration, Failure> {
    let file = Arc::new(File::open(path).map_err(Failure::failed)?);
    let system = System::new(2).map_err(Failure::failed)?;
    let start = Instant::now();
    let read = |reader| {
        let file = file.clone();
        system.spawn_future(async move {
            let (mut places, mut page) = (Places::of(reader), vec![0; PAGE]);
            for _ in 0..each {
                if file.read_at_async(&mut page, places.next()).await? != PAGE {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
            }
            std::io::Result::Ok(())
        })
    };
    let all: Vec<_> = (0..READERS).map(read).collect();
    for one in all {
        one.join().map_err(Failure::failed)?.map_err(Failure::failed)?;
    }
    Ok(start.elapsed())
}

fn read_pages(file: &File, reader: u64, each: u64) -> std::io::Result<()> {
    let (mut places, mut page) = (Places::of(reader), [0; PAGE]);
    (0..each).try_for_each(|_| file.read_exact_at(&mut page, places.next()))
}
