//! The progress bar.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use leno::channel::{Receiver, every, select};

use super::News;

/// How wide the bar itself is.
const WIDTH: u64 = 30;
/// How often it is drawn.
const PERIOD: Duration = Duration::from_millis(100);

/// How far everything is.
///
/// # Examples
/// ```
/// use leno_samples::download::{Bar, News};
///
/// let mut bar = Bar::new(2);
/// for news in [News::Begun(Some(3072)), News::Got(1024), News::Got(512)] {
///     bar.hear(news);
/// }
/// assert_eq!(bar.to_string(), "[===============               ] 1.5 of 3.0 KiB, 0 of 2 done");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Bar {
    jobs: u64,
    done: u64,
    failed: u64,
    got: u64,
    /// Of all that have begun and said how long they are.
    expected: u64,
}

impl Bar {
    /// Nothing has begun yet.
    pub fn new(jobs: u64) -> Bar {
        Bar { jobs, ..Bar::default() }
    }

    /// Takes note.
    pub fn hear(&mut self, news: News) {
        match news {
            News::Begun(length) => self.expected += length.unwrap_or(0),
            News::Got(count) => self.got += count,
            News::Done { is_whole: true } => self.done += 1,
            News::Done { is_whole: false } => self.failed += 1,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Bar { jobs, done, failed, got, .. } = self;
        let all = self.expected.max(got);
        let full = (got * WIDTH).checked_div(all).unwrap_or(0) as usize;
        let bar = "=".repeat(full);
        let (unit, name) = match all {
            0..1_048_576 => (1024.0, "KiB"),
            _ => (1_048_576.0, "MiB"),
        };
        let (got, all) = (got as f64 / unit, all as f64 / unit);
        write!(f, "[{bar:<30}] {got:.1} of {all:.1} {name}, {done} of {jobs} done")?;
        if failed > 0 { write!(f, ", {failed} failed") } else { Ok(()) }
    }
}

/// Draws the bar until all workers are gone: over itself, ten times a second at most, and at the end.
///
/// # Errors
/// Of the screen.
pub fn show(jobs: u64, news: &Receiver<News>, screen: &mut impl Write) -> io::Result<()> {
    let mut bar = Bar::new(jobs);
    let beat = every(PERIOD);
    let mut is_over = false;
    while !is_over {
        let is_time = select! {
            recv(news) -> heard => match heard {
                Ok(heard) => { bar.hear(heard); false }
                Err(_closed) => { is_over = true; true }
            },
            recv(beat) -> _ => true,
        };
        if is_time.unwrap_or(true) {
            // The code clears what is left of a longer line.
            write!(screen, "\r{bar}\x1b[K")?;
            screen.flush()?;
        }
    }
    writeln!(screen)
}
