//! What is said of a run that has failed.

use core::fmt;

use leno_kernel::log::{Log, What};
use leno_kernel::policy::{ChoiceLog, Why};
use leno_kernel::world::Trouble;

/// A run has failed: how, by which schedule, and how to see it again.
pub struct Failure(pub(crate) Box<Found>);

/// What a failure says.
pub(crate) struct Found {
    pub(crate) trouble: Trouble,
    pub(crate) site: Option<String>,
    pub(crate) origin: String,
    pub(crate) runs: u64,
    pub(crate) token: ChoiceLog,
    pub(crate) shortest: ChoiceLog,
    pub(crate) shrinks: u32,
    pub(crate) log: Log,
}

impl Failure {
    /// What went wrong.
    pub fn trouble(&self) -> &Trouble {
        &self.0.trouble
    }

    /// The schedule as it was found.
    pub fn token(&self) -> &ChoiceLog {
        &self.0.token
    }

    /// The shortest schedule that was found to fail in the same way, for
    /// [`Explorer::replay`](crate::Explorer::replay).
    pub fn shortest(&self) -> &ChoiceLog {
        &self.0.shortest
    }

    /// What happened under the shortest schedule.
    pub fn log(&self) -> &Log {
        &self.0.log
    }

    /// How many runs there were, this one included.
    pub fn runs(&self) -> u64 {
        self.0.runs
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0.trouble)?;
        if let Some(site) = &self.0.site {
            writeln!(f, "  at {site}")?;
        }
        writeln!(f, "found in run {} ({})", self.0.runs, self.0.origin)?;
        let (before, after) = (unusual(&self.0.token), unusual(&self.0.shortest));
        let runs = self.0.shrinks;
        writeln!(
            f,
            "shrunk in {runs} runs, from {before} to {after} choices other than the first"
        )?;
        writeln!(f, "run it again with LENO_REPLAY={}", self.0.shortest)?;
        write!(f, "what happened:\n{}", schedule(&self.0.log))
    }
}

/// How often something other than the first was taken: what makes a schedule unlike the default.
fn unusual(token: &ChoiceLog) -> usize {
    token.iter().filter(|decision| decision.took() > 0).count()
}

/// The log as a schedule: a paragraph for each turn, without what goes without saying.
fn schedule(log: &Log) -> String {
    let mut text = String::new();
    let mut turn: Option<&str> = None;
    let lines = log.lines();
    for (n, (event, line)) in log.events().iter().zip(&lines).enumerate() {
        let goes_on = |other: Option<&leno_kernel::log::Event>| {
            other.is_some_and(|next| next.by == event.by && next.what == What::Runs)
        };
        let what = match &event.what {
            What::Runs | What::Woke { why: Why::Spawned, .. } => continue,
            What::Yielded if goes_on(log.events().get(n + 1)) => continue,
            What::Yielded => "is interrupted, or lets others run",
            What::Woke { why: Why::Time, .. } => &line.what,
            _ if event.by.is_none() => continue,
            _ => &line.what,
        };
        let by = if event.by.is_none() { "time" } else { &line.by };
        if turn != Some(by) {
            turn = Some(by);
            text.push_str(&format!("  {by}\n"));
        }
        text.push_str(&format!("      {what}\n"));
    }
    text
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Failure {}
