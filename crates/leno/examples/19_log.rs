//! A log is searched for failures four ways: by iterators, by fibres, by the same fibres fused to one, and by
//! stages that the compiler makes one loop of. `--example 19_log 100` takes 100 MB and says how fast.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::{cell::Cell, env::temp_dir, path::PathBuf, rc::Rc, time::Instant};

use leno::fibre::chip::fuse::{Stage, each, keep};
use leno::fibre::chip::{Chip, filter, filter_map, iterate_with, procedure};

/// What became of a request, and how many milliseconds it took.
type Request = (u32, u32);

/// A log in a file of its own, which goes with it.
struct Log(PathBuf);

impl Log {
    /// Of so many bytes, and always the same.
    fn write(bytes: usize) -> io::Result<Log> {
        let log = Log(temp_dir().join(format!("leno-log-{}", std::process::id())));
        let (mut file, mut written, mut n) = (BufWriter::new(File::create(&log.0)?), 0, 1_u64);
        while written < bytes {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            let (lot, second) = (n >> 33, written / 4_000);
            let status = if lot.is_multiple_of(50) { 500 + lot / 50 % 5 } else { 200 };
            let (host, page, took) = (lot % 7, lot % 5_000, 1 + lot % 97);
            let line = format!("{second:08} host-{host} GET /page/{page} {status} {took} ms\n");
            file.write_all(line.as_bytes())?;
            written += line.len();
        }
        file.flush().map(|()| log)
    }

    fn lines(&self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(File::open(&self.0).expect("it is there")).lines().map_while(Result::ok)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn parse(line: String) -> Option<Request> {
    let mut words = line.split(' ').skip(4);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn main() -> io::Result<()> {
    let megabytes = std::env::args().nth(1).and_then(|size| size.parse::<usize>().ok());
    let log = Rc::new(Log::write(megabytes.map_or(100_000, |size| size * 1_000_000))?);
    let failed = |request: &Request| request.0 >= 500;
    let sums = Rc::new(Cell::new((0, 0)));
    let add = |sums: &Cell<(u32, u32)>, took| sums.set((sums.get().0 + 1, sums.get().1 + took));
    let (lines, found) = (log.clone(), sums.clone());
    let pipeline = iterate_with(move || lines.lines())
        | filter_map(parse)
        | filter(failed, |request| request.1)
        | procedure(move |took| add(&found, took));
    let run = |chip: Chip<()>| drop(leno::run(move |cx| drop(chip.start(cx, ()))));
    let loops = || each(parse).then(keep(failed)).drive(log.lines(), |found| add(&sums, found.1));
    let iterators =
        || log.lines().filter_map(parse).filter(failed).for_each(|found| add(&sums, found.1));
    let ways: [(&str, &dyn Fn()); 4] = [
        ("iterators", &iterators),
        ("fibres", &|| run(pipeline.clone())),
        ("fused", &|| run(pipeline.clone().fused())),
        ("one loop", &loops),
    ];
    for (name, way) in ways {
        let start = Instant::now();
        way();
        let ((count, took), seconds) = (sums.take(), start.elapsed().as_secs_f64());
        let speed = megabytes.map(|size| format!(", {:.0} MB/s", size as f64 / seconds));
        println!("{name}: {count} failures, {took} ms{}", speed.unwrap_or_default());
    }
    Ok(())
}
