//! A watchdog: it names whoever does not come back to its scheduler.

use core::fmt;
use core::time::Duration;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};

use leno_context::{interrupt, last_words};
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::{Co, Name, Overdue, Watch};

/// A thread that watches the slices of all systems, and reports coroutines that miss theirs: which run
/// on although their [`Budget`](crate::Budget) of time is over, or for too long without one. It looks as
/// often as it is patient, and costs next to nothing.
///
/// Each such slice is reported once, with the function and the line where the coroutine is: that is
/// where a [`safepoint!`](crate::safepoint), or an [`attribute`](macro@crate::preemptible), is missing.
///
/// # Examples
/// ```
/// use leno_process::{Budget, Sink, Watchdog};
/// use leno_kernel::{LocalSystem, Options};
/// use std::time::{Duration, Instant};
///
/// let (send, reports) = std::sync::mpsc::channel();
/// let watchdog = Watchdog::start(Duration::from_millis(10), move |missed| {
///     send.send(missed.name.as_str().map(str::to_owned)).unwrap();
/// })?;
/// let system = LocalSystem::builder().preemptive().build();
/// drop(system.spawn(|| {
///     let sink = Sink::new();
///     let hog = || {
///         let begun = Instant::now();
///         while begun.elapsed() < Duration::from_millis(100) {}
///     };
///     drop(sink.spawn(&Options::new().name("hog"), hog));
///     while let Some(co) = sink.next() {
///         co.attach(Budget::time(Duration::from_millis(1))).unwrap();
///     }
/// }));
/// system.run()?;
/// assert_eq!(reports.recv()?.as_deref(), Some("hog"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watchdog {
    end: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Whoever has missed its slice.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Missed {
    /// Which coroutine it is.
    pub co: Option<Co>,
    /// Its name.
    pub name: Name,
    /// Where it was spawned.
    pub spawned: Option<&'static core::panic::Location<'static>>,
    /// What its system is called.
    pub system: String,
    /// How long ago it should have come back.
    pub late: Duration,
    /// Where it is, as far as that can be told.
    pub place: Option<Place>,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The function.
    pub function: String,
    /// Its file, if the program knows its lines.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

impl Watchdog {
    /// Starts one that calls `report` for each slice that is this late or later. A panic of `report` goes to the
    /// failure hook of the process (`leno_kernel::layer::user::on_failure`), and the watchdog goes on.
    ///
    /// # Errors
    /// When the machine gives no thread.
    pub fn start(
        patience: Duration,
        report: impl FnMut(Missed) + Send + 'static,
    ) -> std::io::Result<Watchdog> {
        let (end, ended) = mpsc::channel();
        let watch = Watch::begin();
        let mut report = report;
        let body = move || {
            let mut reported = Vec::new();
            while ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let overdue = watch.overdue(patience);
                reported.retain(|due| overdue.iter().any(|now| now.due == *due));
                for overdue in overdue {
                    if !reported.contains(&overdue.due) {
                        reported.push(overdue.due);
                        let missed = Missed::of(&watch, overdue);
                        if let Err(panic) = user::call(|| report(missed)) {
                            user::failed("a report of a watchdog", panic);
                        }
                    }
                }
            }
            user::discard(report);
        };
        let thread = std::thread::Builder::new().name("leno-watchdog".to_owned()).spawn(body)?;
        Ok(Watchdog { end: Some(end), thread: Some(thread) })
    }

    /// The same; it prints its reports to standard error.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn to_stderr(patience: Duration) -> std::io::Result<Watchdog> {
        Watchdog::start(patience, |missed| last_words::say(format_args!("{missed}")))
    }
}

/// Ends it, and waits for a report that it is about; one that drops the watchdog itself is not waited for.
impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.end.take());
        let own = std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != own)
            && let Err(payload) = thread.join()
        {
            drop(Panic::new(payload));
        }
    }
}

impl Missed {
    fn of(watch: &Watch, overdue: Overdue) -> Missed {
        let sample = interrupt::sample(overdue.thread).ok().flatten();
        // If another slice has begun meanwhile, it says nothing about this one.
        let is_same = watch.overdue(Duration::ZERO).iter().any(|now| now.due == overdue.due);
        let place = sample.filter(|_| is_same).and_then(|sample| {
            let returns = sample.stack.iter().map(|word| word.wrapping_sub(1));
            place(std::iter::once(sample.counter).chain(returns))
        });
        let Overdue { co, name, site, system, late, .. } = overdue;
        Missed { co, name, spawned: site, system, late, place }
    }
}

/// The innermost of these addresses that is in a function of the program, and not of the standard
/// library or leno, if one is; else the first one that is known.
fn place(addresses: impl Iterator<Item = usize>) -> Option<Place> {
    let mut first = None;
    for address in addresses {
        let mut own = None;
        backtrace::resolve(address as *mut _, |symbol| {
            let Some(name) = symbol.name() else { return };
            let file = symbol.filename().map(|file| file.display().to_string());
            let found = Place { function: format!("{name:#}"), file, line: symbol.lineno() };
            if own.is_none() && is_of_program(&found) {
                own = Some(found.clone());
            }
            first.get_or_insert(found);
        });
        if own.is_some() {
            return own;
        }
    }
    first
}

/// Whether a function was written by users: it has lines, which are not the standard library's.
fn is_of_program(place: &Place) -> bool {
    let library = ["/rustc/", "/library/std/", "/library/core/", "/library/alloc/"];
    let Some(file) = &place.file else { return false };
    place.line.is_some_and(|line| line > 0) && !library.iter().any(|part| file.contains(part))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({file}:{line})"),
            (Some(file), None) => write!(f, " ({file})"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.co) {
            (Some(name), _) => write!(f, "coroutine '{name}'")?,
            (None, Some(co)) => write!(f, "coroutine {co}")?,
            (None, None) => write!(f, "a coroutine")?,
        }
        write!(f, " of system '{}'", self.system)?;
        if let Some(site) = self.spawned {
            write!(f, ", spawned at {site},")?;
        }
        write!(f, " has missed its slice by {:?}", self.late)?;
        match &self.place {
            Some(place) => write!(f, "; it is in {place}: put a safepoint there"),
            None => Ok(()),
        }
    }
}
