//! Workers in processes of their own.
//!
//! The program executes itself with the hidden argument `--worker`, who works, on what and how. A worker says `ready`
//! when it has opened the database, waits for a line, works, and says `made COUNT NANOSECONDS`; or, as a child
//! (`child.rs`), why not. One that is to restart says nothing before: its time is that of the whole process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Keeper, Pace, keepers};
use crate::contender::Failure;

/// The hidden argument.
pub const ARGUMENT: &str = "--worker";

/// Lets so many processes make steps for a while. How many they made, and how long the last one took.
pub fn work(
    name: &str,
    address: &str,
    pace: Pace,
    processes: u64,
    millis: u64,
) -> Result<(u64, Duration), Failure> {
    let started = (0..processes).map(|_| Worker::start(name, address, pace, millis));
    let mut workers = started.collect::<Result<Vec<_>, _>>()?;
    for worker in &mut workers {
        worker.hear("ready")?;
    }
    for worker in &mut workers {
        worker.tell()?;
    }
    let (mut made, mut took) = (0, Duration::ZERO);
    for worker in &mut workers {
        let (count, time) = worker.made()?;
        made += count;
        took = took.max(time);
    }
    Ok((made, took))
}

/// Lets a new process make a step of every session, and waits for its end.
pub fn restart(name: &str, address: &str, pace: Pace) -> Result<(u64, Duration), Failure> {
    let start = Instant::now();
    let (made, _) = Worker::start(name, address, pace, 0)?.made()?;
    Ok((made, start.elapsed()))
}

struct Worker {
    process: Child,
    says: BufReader<std::process::ChildStdout>,
}

impl Worker {
    fn start(name: &str, address: &str, pace: Pace, millis: u64) -> Result<Worker, Failure> {
        let mut command = Command::new(std::env::current_exe().map_err(Failure::failed)?);
        command.args([ARGUMENT, name, address]);
        command.args([pace.batch as u64, pace.rounds as u64, millis].map(|n| n.to_string()));
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = pipes.spawn().map_err(Failure::failed)?;
        let says = process.stdout.take().ok_or_else(|| Failure::failed("a worker is mute"))?;
        Ok(Worker { process, says: BufReader::new(says) })
    }

    /// The rest of the next line that begins with this word.
    fn hear(&mut self, word: &str) -> Result<String, Failure> {
        let mut line = String::new();
        self.says.read_line(&mut line).map_err(Failure::failed)?;
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            (first, rest) if first == word => Ok(rest.to_owned()),
            ("skipped", why) => Err(Failure::Skipped(why.to_owned())),
            (_, why) => Err(Failure::Failed(format!("a worker: {why}"))),
        }
    }

    fn tell(&mut self) -> Result<(), Failure> {
        let to = self.process.stdin.as_mut().ok_or_else(|| Failure::failed("a worker is deaf"))?;
        to.write_all(b"go\n").map_err(Failure::failed)
    }

    fn made(&mut self) -> Result<(u64, Duration), Failure> {
        let text = self.hear("made")?;
        let made = text.split_once(' ').and_then(|(count, nanos)| {
            Some((count.parse().ok()?, Duration::from_nanos(nanos.parse().ok()?)))
        });
        made.ok_or_else(|| Failure::Failed(format!("a worker made `{text}`")))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

/// The process that is a worker.
pub fn main(args: &[String]) -> ! {
    match requested(args) {
        Ok((count, took)) => println!("made {count} {}", took.as_nanos()),
        Err(Failure::Skipped(why)) => println!("skipped {why}"),
        Err(Failure::Failed(why)) => println!("failed {why}"),
    }
    std::process::exit(0)
}

fn requested(args: &[String]) -> Result<(u64, Duration), Failure> {
    let malformed = || Failure::failed("malformed request");
    let [name, address, numbers @ ..] = args else { return Err(malformed()) };
    let numbers = numbers.iter().map(|n| n.parse::<u64>());
    let numbers = numbers.collect::<Result<Vec<_>, _>>().map_err(|_| malformed())?;
    let [batch, rounds, millis] = numbers[..] else { return Err(malformed()) };
    let pace = Pace { batch: batch as usize, rounds: rounds as usize };
    let scheme = address.split(':').next().unwrap_or_default();
    let keeper = keepers(scheme).into_iter().find(|keeper| keeper.name == name);
    let Keeper { work, waiting, .. } = keeper.ok_or_else(malformed)?;
    let mut start = Instant::now();
    let made = if millis == 0 {
        (waiting.ok_or_else(malformed)?.work)(address, pace)?
    } else {
        let mut begin = || {
            println!("ready");
            std::io::stdin().read_line(&mut String::new()).map_err(Failure::failed)?;
            start = Instant::now();
            Ok(())
        };
        work(address, pace, &mut begin, Duration::from_millis(millis))?
    };
    Ok((made, start.elapsed()))
}
