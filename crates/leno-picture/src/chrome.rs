//! A log as a trace that Chrome and Perfetto open.
//!
//! One process; a thread per coroutine, in the order in which they appear, and one more for what is
//! done from outside. A turn, a wait and the time in between are complete events (`X`), which never
//! overlap on a thread; marks, choices, operations and ends are instants (`i`); a wake-up or a value
//! is a flow (`s`, `f`) from the turn that gives it to the turn it leads to.
//!
//! Times are in microseconds. Events of the same time, of which a virtual clock has many, are drawn a
//! nanosecond apart, in the log's order: so none covers another, and arrows never point back.

use core::fmt::{self, Write};

use leno_kernel::log::Log;

use crate::Names;
use crate::escape::json;
use crate::story::{Arrow, Carries, Doing, Kind, Span, Story};

/// What happened, as JSON in the trace event format: for `ui.perfetto.dev`, or `chrome://tracing`.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, yield_now};
/// use leno_picture::{Names, chrome};
///
/// let system = LocalSystem::builder().log(1_000).build();
/// drop(system.spawn(|| yield_now()));
/// system.run()?;
/// let trace = chrome(&system.log(), &Names::new());
/// assert!(trace.starts_with("{\"displayTimeUnit\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn chrome(log: &Log, names: &Names) -> String {
    let mut trace = Trace::new(Story::new(log, names));
    trace.write().expect("a string takes any text");
    trace.out
}

struct Trace {
    story: Story,
    /// Nanoseconds, strictly increasing; one more than there are moments.
    times: Vec<u64>,
    /// At which moments each row begins a turn.
    turns: Vec<Vec<usize>>,
    out: String,
    is_first: bool,
}

/// The thread of a row.
fn thread(row: usize) -> usize {
    row + 1
}

/// Nanoseconds as microseconds.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

impl Trace {
    fn new(story: Story) -> Trace {
        let mut next = 0;
        let mut times: Vec<u64> = Vec::with_capacity(story.moments.len() + 1);
        for moment in &story.moments {
            next = moment.at.max(next);
            times.push(next);
            next += 1;
        }
        times.push(next);
        let mut turns = vec![Vec::new(); story.rows.len()];
        for span in story.spans.iter().filter(|span| span.doing == Doing::Runs) {
            turns[span.row].push(span.from);
        }
        Trace { story, times, turns, out: String::new(), is_first: true }
    }

    fn write(&mut self) -> fmt::Result {
        let lost = self.story.lost;
        write!(
            self.out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"lost\":{lost}}},\"traceEvents\":["
        )?;
        self.names()?;
        for index in 0..self.story.spans.len() {
            self.span(index)?;
        }
        for moment in 0..self.story.moments.len() {
            self.instant(moment)?;
        }
        for index in 0..self.story.arrows.len() {
            self.flow(index)?;
        }
        self.out.push_str("\n]}\n");
        Ok(())
    }

    /// An event without its closing brace.
    fn event(&mut self, ph: &str, tid: usize) -> fmt::Result {
        let comma = if self.is_first { "" } else { "," };
        self.is_first = false;
        write!(self.out, "{comma}\n{{\"ph\":\"{ph}\",\"pid\":1,\"tid\":{tid}")
    }

    fn names(&mut self) -> fmt::Result {
        self.event("M", 0)?;
        self.out.push_str(",\"name\":\"process_name\",\"args\":{\"name\":\"leno\"}}");
        let rows = self.story.rows.len();
        let names: Vec<String> = self.story.rows.iter().map(|row| row.name.clone()).collect();
        let outside = ["outside".to_owned()];
        for (row, name) in names.iter().chain(&outside).enumerate() {
            let (tid, order) = (thread(row), (row + 1) % (rows + 1));
            self.event("M", tid)?;
            let name = json(name);
            write!(self.out, ",\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}")?;
            self.event("M", tid)?;
            write!(
                self.out,
                ",\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{order}}}}}"
            )?;
        }
        Ok(())
    }

    fn end(&self, span: &Span) -> u64 {
        self.times[span.to.unwrap_or(self.story.moments.len())]
    }

    fn span(&mut self, index: usize) -> fmt::Result {
        let span = &self.story.spans[index];
        let category = match span.doing {
            Doing::New | Doing::Ready => "ready",
            Doing::Runs => "runs",
            _ => "waits",
        };
        let (from, to) = (self.times[span.from], self.end(span));
        let (start, length) = (Micros(from), Micros(to - from));
        let (name, tid) = (json(&span.text).to_string(), thread(span.row));
        let core = self.story.moments[span.from].core;
        let site = self.story.rows[span.row].site.clone().unwrap_or_default();
        let ended = span.to.map(|to| self.told(to)).unwrap_or_default();
        self.event("X", tid)?;
        let (site, ended) = (json(&site), json(&ended));
        write!(
            self.out,
            ",\"cat\":\"{category}\",\"name\":{name},\"ts\":{start},\"dur\":{length},\
             \"args\":{{\"core\":{core},\"until\":{ended},\"spawned at\":{site}}}}}"
        )
    }

    /// An event as a sentence.
    fn told(&self, moment: usize) -> String {
        let moment = &self.story.moments[moment];
        let by = moment.by.map_or("outside", |by| &self.story.rows[by].name);
        format!("{by} {}", moment.text)
    }

    fn instant(&mut self, index: usize) -> fmt::Result {
        let moment = &self.story.moments[index];
        let category = match moment.kind {
            Kind::Mark => "mark",
            Kind::Choice => "choice",
            Kind::Begin | Kind::Does | Kind::Fail => "operation",
            Kind::End => "end",
            // Done from outside: no arrow tells of it.
            Kind::Wake | Kind::Spawn if moment.by.is_none() => "outside",
            _ => return Ok(()),
        };
        let tid = thread(moment.by.unwrap_or(self.story.rows.len()));
        let (name, core) = (json(&moment.text).to_string(), moment.core);
        let (at, real) = (self.times[index], moment.at);
        self.event("i", tid)?;
        let (at, real) = (Micros(at), Micros(real));
        write!(
            self.out,
            ",\"s\":\"t\",\"cat\":\"{category}\",\"name\":{name},\"ts\":{at},\
             \"args\":{{\"core\":{core},\"event\":{index},\"at\":{real}}}}}"
        )
    }

    fn flow(&mut self, index: usize) -> fmt::Result {
        let arrow = &self.story.arrows[index];
        let (name, category) = match arrow.carries {
            Carries::WakeUp => ("wakes", "wake-up"),
            Carries::Value => ("value", "value"),
            Carries::Spawn => ("spawns", "spawn"),
            Carries::Call => ("calls", "call"),
        };
        let from = self.times[arrow.from.1];
        // In a log of several cores a value may be received before the log says it was sent.
        let to = self.times[self.lands(arrow)].max(from);
        let (sender, receiver) = (thread(arrow.from.0), thread(arrow.to.0));
        for (ph, tid, at) in [("s", sender, from), ("f\",\"bp\":\"e", receiver, to)] {
            self.event(ph, tid)?;
            let at = Micros(at);
            write!(
                self.out,
                ",\"cat\":\"{category}\",\"name\":\"{name}\",\"id\":{index},\"ts\":{at}}}"
            )?;
        }
        Ok(())
    }

    /// A value lands where it is received, all else at the turn to which it leads.
    fn lands(&self, arrow: &Arrow) -> usize {
        let (row, moment) = arrow.to;
        if arrow.carries == Carries::Value {
            return moment;
        }
        let turns = &self.turns[row];
        let next = turns.partition_point(|turn| *turn < moment);
        turns.get(next).copied().unwrap_or(moment)
    }
}

#[cfg(test)]
mod tests;
