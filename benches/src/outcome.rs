//! What was measured, and what it says about the targets.

use crate::bench::Bench;
use crate::contender::Failure;
use crate::stats::Spread;

/// The contender everything is compared with.
pub const SUBJECT: &str = "leno";

/// One bench, measured.
pub struct Outcome {
    pub bench: &'static Bench,
    pub cases: Vec<CaseOutcome>,
}

/// One case of a bench: all its contenders at one value of the parameter.
pub struct CaseOutcome {
    pub parameter: Option<u64>,
    pub entries: Vec<Entry>,
}

/// One contender of one case.
pub struct Entry {
    pub name: &'static str,
    pub version: String,
    /// `(round, value)`: rounds tell which samples were taken side by side.
    pub samples: Vec<(usize, f64)>,
    pub note: Option<String>,
    pub failure: Option<Failure>,
}

/// A target of the design, or a remark that has none (`met` is `None`).
pub struct Verdict {
    pub text: String,
    pub measured: String,
    pub met: Option<bool>,
}

impl Entry {
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.samples.iter().map(|&(_, value)| value))
    }

    pub fn median(&self) -> Option<f64> {
        self.spread().map(|s| s.median)
    }
}

impl CaseOutcome {
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    pub fn median(&self, name: &str) -> Option<f64> {
        self.entry(name)?.median()
    }

    /// `left / right`: the median over the rounds in which both had a turn, so that whatever
    /// disturbed the machine during a round disturbed both sides of the division.
    pub fn ratio(&self, left: &str, right: &str) -> Option<f64> {
        let right = self.entry(right)?;
        let of_round = |round| right.samples.iter().find(|s| s.0 == round).map(|s| s.1);
        let paired = self.entry(left)?.samples.iter();
        Spread::of(paired.filter_map(|&(round, value)| Some(value / of_round(round)?)))
            .map(|s| s.median)
    }
}

impl Outcome {
    pub fn case(&self, parameter: Option<u64>) -> Option<&CaseOutcome> {
        self.cases.iter().find(|c| c.parameter == parameter)
    }

    /// `(parameter, median)` of one contender through all cases: a line of a chart.
    pub fn curve(&self, name: &str) -> Vec<(f64, f64)> {
        let point = |c: &CaseOutcome| Some((c.parameter? as f64, c.median(name)?));
        self.cases.iter().filter_map(point).collect()
    }

    /// Every contender's name, in the order of first appearance.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for entry in self.cases.iter().flat_map(|c| &c.entries) {
            if !names.contains(&entry.name) {
                names.push(entry.name);
            }
        }
        names
    }

    /// Whether `left / right` stays at or below a limit; nothing when either has no figure.
    pub fn at_most(
        &self,
        case: Option<u64>,
        left: &str,
        right: &str,
        limit: f64,
    ) -> Option<Verdict> {
        let value = self.case(case)?.ratio(left, right)?;
        let at = case.map(|c| format!(" at {}", crate::number::grouped(c))).unwrap_or_default();
        Some(Verdict {
            text: format!("{left} <= {limit} x {right}{at}"),
            measured: crate::number::ratio(value),
            met: Some(value <= limit),
        })
    }

    /// Whether `left / right` reaches at least a limit.
    pub fn at_least(&self, left: &str, right: &str, limit: f64) -> Option<Verdict> {
        let value = self.case(None)?.ratio(left, right)?;
        Some(Verdict {
            text: format!("{left} >= {limit} x {right}"),
            measured: crate::number::ratio(value),
            met: Some(value >= limit),
        })
    }
}
