//! Load in a process of its own, for where both ends of all connections would be too many files for one.
//!
//! The program executes itself with the hidden argument `--load`, the server's address and process, and how
//! much; it prints one line: `served NANOSECONDS COUNT NOTE`, or as a child (`child.rs`) why not.

use std::process::Command;
use std::time::Duration;

use super::{Served, Target, load, processor};
use crate::contender::Failure;
use crate::process;

/// The hidden argument.
pub const ARGUMENT: &str = "--load";

/// [`load::echo_beside_idle`], from a process of its own. This one has its own end of each connection.
pub fn echo_beside_idle(target: Target, connections: usize, n: u64) -> Result<Served, Failure> {
    processor::open_files();
    let mut command = Command::new(std::env::current_exe().map_err(Failure::failed)?);
    command.args([ARGUMENT, &target.address.to_string(), &target.process.to_string()]);
    command.args([connections.to_string(), n.to_string()]);
    let output = process::output(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(text.trim()).unwrap_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(Failure::failed(errors.lines().last().unwrap_or("the load said nothing")))
    })
}

fn parse(line: &str) -> Option<Result<Served, Failure>> {
    let (kind, rest) = line.split_once(' ')?;
    match kind {
        "served" => {
            let mut words = rest.splitn(3, ' ');
            let took = Duration::from_nanos(words.next()?.parse().ok()?);
            let count = words.next()?.parse().ok()?;
            Some(Ok(Served { took, count, note: words.next().map(str::to_owned) }))
        }
        "skipped" => Some(Err(Failure::Skipped(rest.to_owned()))),
        "failed" => Some(Err(Failure::failed(rest))),
        _ => None,
    }
}

/// The process that is the load.
pub fn main(args: &[String]) -> ! {
    processor::pin(1);
    match requested(args) {
        Ok(Served { took, count, note }) => {
            println!("served {} {count} {}", took.as_nanos(), note.unwrap_or_default());
        }
        Err(Failure::Skipped(why)) => println!("skipped {why}"),
        Err(Failure::Failed(why)) => println!("failed {why}"),
    }
    std::process::exit(0)
}

fn requested(args: &[String]) -> Result<Served, Failure> {
    let malformed = || Failure::failed("malformed request");
    let [address, process, connections, n] = args else { return Err(malformed()) };
    let target = Target {
        address: address.parse().map_err(|_| malformed())?,
        process: process.parse().map_err(|_| malformed())?,
    };
    let connections = connections.parse().map_err(|_| malformed())?;
    load::echo_beside_idle(target, connections, n.parse().map_err(|_| malformed())?)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_the_load_says_is_understood() {
        let served = parse("served 1500 3 12 bytes an idle one").unwrap().unwrap();
        assert_eq!((served.took.as_nanos(), served.count), (1500, 3));
        assert_eq!(served.note.as_deref(), Some("12 bytes an idle one"));
        assert!(parse("skipped few files").unwrap().is_err() && parse("nonsense").is_none());
    }
}
