//! Load by `wrk`, on the second processor: as many requests as it can, for a time.
//!
//! It makes one connection to see whether anyone is there, then those of the load. Last comes a request of
//! our own, for `/stop`: a server that does not count its connections ends then.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use super::{Served, Target};
use crate::contender::Failure;
use crate::process;

/// Connections of the load.
pub const BUSY: usize = 64;
/// All that are made.
pub const CONNECTIONS: usize = BUSY + 2;

/// Requests for `/`, for so many seconds.
pub fn plaintext(target: Target, _: usize, seconds: u64) -> Result<Served, Failure> {
    let told = pour(target, seconds);
    let stop = || -> std::io::Result<()> {
        let mut last = TcpStream::connect(target.address)?;
        last.write_all(b"GET /stop HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        last.read_to_end(&mut Vec::new()).map(drop)
    };
    let stopped = stop();
    let served = told?;
    stopped.map_err(Failure::failed)?;
    Ok(served)
}

fn pour(target: Target, seconds: u64) -> Result<Served, Failure> {
    if Command::new("wrk").arg("--version").output().is_err() {
        return Err(Failure::Skipped("wrk not found: apt-get install wrk".into()));
    }
    let mut wrk = Command::new("taskset");
    wrk.args(["-c", "1", "wrk", "--latency", "-t", "1", "-c", &BUSY.to_string()]);
    wrk.args(["-d", &format!("{seconds}s"), &format!("http://{}/", target.address)]);
    let output = process::output(&mut wrk)?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        Failure::Failed(format!("wrk: {}", errors.lines().next().unwrap_or("no figures")))
    })
}

/// What wrk prints: requests and the time they took, and the latencies that half and all but one in a
/// hundred stay below.
fn parse(text: &str) -> Option<Served> {
    let summary = text.lines().find(|line| line.contains(" requests in "))?;
    let mut words = summary.split_whitespace();
    let count: u64 = words.next()?.parse().ok()?;
    let took = words.nth(2)?.trim_end_matches(',').strip_suffix('s')?.parse().ok()?;
    let latency = |percent: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(percent))?;
        Some(line.trim().to_owned())
    };
    let mut note = format!("p50 {}, p99 {}", latency("50%")?, latency("99%")?);
    for wrong in text.lines().filter(|line| {
        line.trim().starts_with("Socket errors") || line.trim().starts_with("Non-2xx")
    }) {
        note = format!("{note}, {}", wrong.trim());
    }
    Some(Served { took: Duration::from_secs_f64(took), count, note: Some(note) })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_wrk_prints_is_understood() {
        let text = "  Latency Distribution\n     50%  455.00us\n     75%  523.00us\n     99%    1.13ms\n\
                    \x20 137331 requests in 1.10s, 9.56MB read\nRequests/sec: 124854.21\n";
        let served = parse(text).unwrap();
        assert_eq!((served.count, served.took.as_millis()), (137_331, 1100));
        assert_eq!(served.note.as_deref(), Some("p50 455.00us, p99 1.13ms"));
        assert!(parse("unable to connect").is_none());
    }
}
