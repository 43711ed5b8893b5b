//! What comes of a run that has failed: it is run again, made short, and told.
//!
//! A schedule is worth telling only if it fails each time. If it does not, something decides that leno
//! does not, and that is what is told.

use leno_kernel::layer::world::Trouble;
use leno_kernel::policy::{ChoiceLog, Decision};

use crate::explorer::{Explorer, Program, Run};
use crate::failure::{Failure, Found};
use crate::recorder::Recorder;
use crate::shrink::shrink;

/// What is known of the run that has failed first.
pub(crate) fn explain(explorer: &Explorer, first: Seen, program: &Program, runs: u64) -> Failure {
    let (origin, token) = (first.origin.clone(), first.token.clone());
    let (mut decided, mut run) = explorer.retry(first.decided.clone(), program, true);
    let (mut shrinks, mut repeats) = (0, first.is_like(&run));
    if repeats {
        let (shortest, tries) =
            shrink(explorer, program, &first.decided, &first.trouble, explorer.shrinks);
        shrinks = tries;
        if tries > 0 {
            (decided, run) = explorer.retry(shortest, program, true);
            repeats = first.is_like(&run);
        }
    }
    let log = core::mem::take(&mut run.log);
    let (trouble, site, shortest) = match (repeats, run.trouble.clone()) {
        (true, Some(trouble)) => (trouble, run.site, decided),
        // That nobody decides it has been said already.
        _ if matches!(first.trouble, Trouble::NotControlled(_)) => {
            (first.trouble, first.site, first.decided)
        }
        _ => (first.unlike(&decided, &run), None, first.decided),
    };
    let shortest = shortest.into_iter().collect();
    let origin = Some(origin);
    Failure(Box::new(Found { trouble, site, origin, runs, token, shortest, shrinks, repeats, log }))
}

/// The run that has failed first.
pub(crate) struct Seen {
    origin: String,
    token: ChoiceLog,
    decided: Vec<Decision>,
    trouble: Trouble,
    site: Option<String>,
}

impl Seen {
    /// Copies what the recorder has of it: the program runs again before it is told.
    pub(crate) fn of(recorder: &mut Recorder, trouble: Trouble, site: Option<String>) -> Seen {
        let (origin, token) = (recorder.strategy().origin(), recorder.token());
        Seen { origin, token, decided: recorder.decided().to_vec(), trouble, site }
    }

    /// Whether another run has failed in the same way. What a panic says may differ, if its place is the same.
    fn is_like(&self, run: &Run) -> bool {
        let Some(trouble) = &run.trouble else { return false };
        let panicked = |trouble: &Trouble| matches!(trouble, Trouble::Panicked { .. });
        let is_known = self.site.is_some() && self.site == run.site;
        let same_place = panicked(&self.trouble) && panicked(trouble) && is_known;
        same_place || trouble.is_like(&self.trouble)
    }

    /// The same schedule did not fail in the same way: how the two runs differ.
    fn unlike(&self, decided: &[Decision], run: &Run) -> Trouble {
        let mut text = "the same schedule did not fail again".to_owned();
        text += &format!("\n  the first time: {}", self.trouble);
        if let Some(site) = &self.site {
            text += &format!(", at {site}");
        }
        match &run.trouble {
            Some(trouble) => text += &format!("\n  the second time: {trouble}"),
            None => text += "\n  the second time: nothing failed",
        }
        text += &format!("\n  {}", difference(&self.decided, decided));
        text += "\nthe program depends on something that leno does not decide, such as a static variable, \
                 a clock, or the order of a HashMap";
        Trouble::NotControlled(text)
    }
}

/// Where two runs were decided differently.
fn difference(first: &[Decision], second: &[Decision]) -> String {
    let say = |decision: Option<&Decision>| match decision {
        Some(decision) => format!("a {} among {}", decision.kind(), decision.of()),
        None => "the end".to_owned(),
    };
    let longest = first.len().max(second.len());
    let step = (0..longest).find(|step| first.get(*step) != second.get(*step));
    match step {
        None if first.is_empty() => "neither run had a choice".to_owned(),
        None => format!("both had the same {} choices", first.len()),
        Some(step) => format!(
            "choice {} was {} the first time, and {} the second",
            step + 1,
            say(first.get(step)),
            say(second.get(step)),
        ),
    }
}
