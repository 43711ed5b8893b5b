//! What is said of a run that has failed.

use core::fmt;

use leno_kernel::layer::world::Trouble;
use leno_kernel::log::Log;
use leno_kernel::policy::ChoiceLog;

use crate::tell::tell;

/// A run has failed: how, by which schedule, and how to see it again.
pub struct Failure(pub(crate) Box<Found>);

/// What a failure says.
pub(crate) struct Found {
    pub(crate) trouble: Trouble,
    pub(crate) site: Option<String>,
    /// Where the run came from; `None` if no single run has failed.
    pub(crate) origin: Option<String>,
    pub(crate) runs: u64,
    pub(crate) token: ChoiceLog,
    pub(crate) shortest: ChoiceLog,
    pub(crate) shrinks: u32,
    /// Whether the shortest schedule has failed again in the same way.
    pub(crate) repeats: bool,
    pub(crate) log: Log,
}

impl Failure {
    /// All runs together have failed.
    pub(crate) fn of_all(what: String, runs: u64) -> Failure {
        Failure(Box::new(Found {
            trouble: Trouble::Broken(what),
            site: None,
            origin: None,
            runs,
            token: core::iter::empty().collect(),
            shortest: core::iter::empty().collect(),
            shrinks: 0,
            repeats: true,
            log: Log::default(),
        }))
    }

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
        let found = &*self.0;
        write!(f, "{}", found.trouble)?;
        let Some(origin) = &found.origin else { return Ok(()) };
        writeln!(f)?;
        if let Some(site) = &found.site {
            writeln!(f, "  at {site}")?;
        }
        if let Trouble::Deadlock(_) = found.trouble {
            writeln!(
                f,
                "  (threads of std::thread are not seen here: use explore::thread::spawn)"
            )?;
        }
        writeln!(f, "found in run {} ({origin})", found.runs)?;
        if found.repeats {
            let (before, after) = (unusual(&found.token), unusual(&found.shortest));
            let runs = found.shrinks;
            writeln!(
                f,
                "shrunk in {runs} runs, from {before} to {after} choices other than the first"
            )?;
        }
        writeln!(f, "run it again with LENO_REPLAY={}", found.shortest)?;
        let when = if found.repeats { "" } else { " the second time" };
        write!(f, "what happened{when}:\n{}", tell(&found.log))
    }
}

/// How often something other than the first was taken: what makes a schedule unlike the default.
fn unusual(token: &ChoiceLog) -> usize {
    token.iter().filter(|decision| decision.took() > 0).count()
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Failure {}
