//! Deciding as it was decided before: exactly, or as far as it fits.

use core::iter::Peekable;

use leno_kernel::layer::world::Trouble;
use leno_kernel::policy::{ChoiceKind, ChoiceLog, Decided, Decision, Decisions};

use super::{Candidates, Strategy};

/// Decides exactly as before, once. A step that does not fit is trouble.
pub(crate) struct Replay {
    /// Not a list of them: a token of a few characters may stand for more than memory can hold.
    decisions: Peekable<Decisions>,
    /// How many there are.
    all: u64,
    step: u64,
    diverged: Option<String>,
    was_run: bool,
}

impl Replay {
    pub(crate) fn new(token: ChoiceLog) -> Replay {
        let (all, decisions) = (token.len(), token.into_iter().peekable());
        Replay { decisions, all, step: 0, diverged: None, was_run: false }
    }

    fn decide(&mut self, kind: Decided, of: usize) -> usize {
        let (step, all) = (self.step + 1, self.all);
        let why = match self.decisions.peek().copied() {
            Some(logged) if (logged.kind(), logged.of()) == (kind, of) => {
                self.step = step;
                self.decisions.next();
                return logged.took();
            }
            Some(logged) => format!(
                "step {step} of {all} should be a {} among {}, but is a {kind} among {of}",
                logged.kind(),
                logged.of(),
            ),
            None => format!("the token ends after {all} steps, but step {step} is a {kind}"),
        };
        self.diverged.get_or_insert(why);
        0
    }
}

impl Strategy for Replay {
    fn begin(&mut self) -> bool {
        !core::mem::replace(&mut self.was_run, true)
    }

    fn is_blind(&self) -> bool {
        true
    }

    fn pick(&mut self, among: &Candidates<'_>) -> usize {
        self.decide(Decided::Pick, among.who.len())
    }

    fn choose(&mut self, kind: ChoiceKind, of: usize) -> usize {
        self.decide(Decided::Choose(kind), of)
    }

    fn trouble(&mut self) -> Option<Trouble> {
        let why = self.diverged.as_ref()?;
        Some(Trouble::NotControlled(format!(
            "diverged: {why}; the token does not fit: the program is not the one that was explored, or depends \
             on something that leno does not decide"
        )))
    }

    fn left_over(&mut self) -> Option<Trouble> {
        let (used, all) = (self.step, self.all);
        if used < all {
            let why = format!("the program ended after {used} of the token's {all} choices");
            self.diverged.get_or_insert(why);
        }
        self.trouble()
    }

    fn origin(&self) -> String {
        "replay".to_owned()
    }
}

/// Decides as before where that fits, and takes the first elsewhere.
pub(crate) struct Lenient {
    decisions: Vec<Decision>,
    step: usize,
}

impl Lenient {
    pub(crate) fn new(decisions: Vec<Decision>) -> Lenient {
        Lenient { decisions, step: 0 }
    }

    fn decide(&mut self, of: usize) -> usize {
        let logged = self.decisions.get(self.step);
        self.step += 1;
        logged.map_or(0, |logged| logged.took()).min(of - 1)
    }
}

impl Strategy for Lenient {
    fn begin(&mut self) -> bool {
        self.step = 0;
        true
    }

    fn is_blind(&self) -> bool {
        true
    }

    fn pick(&mut self, among: &Candidates<'_>) -> usize {
        self.decide(among.who.len())
    }

    fn choose(&mut self, _: ChoiceKind, of: usize) -> usize {
        self.decide(of)
    }

    fn origin(&self) -> String {
        "shrinking".to_owned()
    }
}
