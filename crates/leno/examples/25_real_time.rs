//! A real-time task placed alone on its core wakes every 2 ms, while another core is kept busy by processes
//! that never give control away. How late it was each time is plotted as an SVG.

use std::fmt::Write;
use std::time::{Duration, Instant};

use leno::kernel::{Options, sleep};
use leno::process::{Budget, Core, Preemptible, Sink};

const PERIOD: Duration = Duration::from_millis(2);
const TIMES: u32 = 100;

/// Microseconds by which it was late, each time.
fn real_time_task() -> Vec<u128> {
    let start = Instant::now();
    let mut late = Vec::new();
    for n in 1..=TIMES {
        let due = start + PERIOD * n;
        sleep(due.saturating_duration_since(Instant::now()));
        late.push(Instant::now().saturating_duration_since(due).as_micros());
    }
    late
}

/// Two that compute, a millisecond each in turn.
fn busy_core() -> u64 {
    let sink = Sink::new();
    let sums: Vec<_> = (0..2)
        .map(|_| {
            let body = || (0..3_000_000u64).preemptible().map(std::hint::black_box).sum::<u64>();
            sink.spawn(&Options::new(), body).expect("there is room")
        })
        .collect();
    while let Some(process) = sink.next() {
        process.attach(Budget::time(Duration::from_millis(1))).expect("it is ready");
    }
    sums.into_iter().map(|sum| sum.join().expect("none panics")).sum()
}

/// One bar for each time.
fn plot(late: &[u128]) -> String {
    let most = late.iter().max().copied().unwrap_or(0).max(1);
    let mut svg =
        String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 220\">\n");
    for (n, late) in late.iter().enumerate() {
        let height = late * 200 / most;
        let (x, y) = (n * 8, 200 - height);
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"6\" height=\"{height}\"/>");
    }
    let _ = writeln!(svg, "<text y=\"216\">at most {most} µs late</text>\n</svg>");
    svg
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (critical, others) = (Core::fork("critical")?, Core::fork("others")?);
    let task = critical.attach(real_time_task);
    let busy = others.attach(busy_core);
    let late = task.join()?;
    println!("woke {} times, never early", late.len());
    let path = std::env::temp_dir().join("leno-jitter.svg");
    std::fs::write(&path, plot(&late))?;
    println!("plotted in {}", path.file_name().unwrap_or_default().display());
    println!("the other core came to {}", busy.join()?);
    Ok(())
}
