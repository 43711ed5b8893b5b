//! Stages one after the other: all that one writes is read by the next.
//!
//! What the first stage reads and what the last one writes stays visible; a pipeline that reads and writes is
//! open, one that does neither is closed (Skaller 2017, 10.1). Spawns stay visible, whoever
//! spawns.
//!
//! A pipeline is worked out from the left, two stages at a time, and made minimal in between; since
//! composition is associative that is the type of all at once, without the product of all states.

use std::error::Error;
use std::fmt;

use crate::compose::{Line, product};
use crate::control_type::ControlType;
use crate::error::TooLarge;
use crate::event::Port;
use crate::fits::{Misfit, check};

/// Which ends of a pipeline are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// It reads and it writes.
    Open,
    /// It only reads: a sink is at its end.
    Reads,
    /// It only writes: a source is at its beginning.
    Writes,
    /// It does neither.
    Closed,
}

impl ControlType {
    /// Which ends are open.
    #[must_use]
    pub fn openness(&self) -> Openness {
        match (self.reads().is_empty(), self.writes().is_empty()) {
            (false, false) => Openness::Open,
            (false, true) => Openness::Reads,
            (true, false) => Openness::Writes,
            (true, true) => Openness::Closed,
        }
    }

    /// The principal type of this stage followed by that one.
    ///
    /// ```
    /// use leno_control::ControlType;
    ///
    /// let function: ControlType = "(RW)+".parse()?;
    /// assert_eq!(function.then(&function)?.to_string(), "(R(RW)*W)+");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If this stage writes to several ports or the next one reads from several, or there are too many
    /// states. Whether the two [fit](crate::fits) is not asked here.
    pub fn then(&self, next: &Self) -> Result<Self, PipelineError> {
        pipeline(&[self.clone(), next.clone()])
    }
}

/// The principal type of stages that follow one another.
///
/// ```
/// use leno_control::{ControlType, pipeline};
///
/// let stages = ["W+", "(RW)+", "(R+W)+"].map(|text| text.parse::<ControlType>().unwrap());
/// assert_eq!(pipeline(&stages)?.to_string(), "W+");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no stage, one writes to several ports or reads from several (the first may read from several
/// and the last write to several), or there are too many states.
pub fn pipeline(stages: &[ControlType]) -> Result<ControlType, PipelineError> {
    in_turn(stages, false)
}

/// The principal type of stages that follow one another, if all of them [fit](crate::fits).
///
/// ```
/// use leno_control::{ControlType, checked_pipeline};
///
/// let stages = ["W", "(RRW)+"].map(|text| text.parse::<ControlType>().unwrap());
/// let error = checked_pipeline(&stages).unwrap_err().to_string();
/// assert_eq!(
///     error,
///     "stage 2 does not fit: stage 2 `(RRW)+` can never write: after W/R it waits for ever to read, \
///      for stage 1 `W` has ended"
/// );
/// ```
///
/// # Errors
///
/// As [`pipeline`], and if a stage does not fit to what is before it.
pub fn checked_pipeline(stages: &[ControlType]) -> Result<ControlType, PipelineError> {
    in_turn(stages, true)
}

fn in_turn(stages: &[ControlType], checked: bool) -> Result<ControlType, PipelineError> {
    let (first, others) = stages.split_first().ok_or(PipelineError::NoStage)?;
    let mut whole = first.clone();
    for (stage, next) in (2..).zip(others) {
        one_port(stage - 1, whole.writes(), "writes to")?;
        one_port(stage, next.reads(), "reads from")?;
        if checked {
            let before = match stage {
                2 => "stage 1".to_owned(),
                _ => format!("stages 1 to {}", stage - 1),
            };
            let parts = [(before.as_str(), &whole), (&format!("stage {stage}"), next)];
            check(&parts, &Line).map_err(|misfit| PipelineError::Misfit { stage, misfit })?;
        }
        let machine = product(&[whole.machine(), next.machine()], &Line)?;
        whole = ControlType::of_machine(machine);
    }
    Ok(whole)
}

pub(crate) fn one_port(
    stage: usize,
    ports: Vec<Port>,
    does: &'static str,
) -> Result<(), PipelineError> {
    match ports.len() {
        0 | 1 => Ok(()),
        _ => Err(PipelineError::SeveralPorts { stage, does, ports }),
    }
}

/// Why stages make no pipeline. Stages are counted from 1.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipelineError {
    /// There are none.
    NoStage,
    /// A stage has several ports where its neighbour has one channel; wire them with [`crate::compose`].
    SeveralPorts {
        /// Which stage.
        stage: usize,
        /// What it does there.
        does: &'static str,
        /// Its ports.
        ports: Vec<Port>,
    },
    /// A stage does not fit to those before it.
    Misfit {
        /// Which stage.
        stage: usize,
        /// Why.
        misfit: Misfit,
    },
    /// There are too many states.
    TooLarge(TooLarge),
}

impl From<TooLarge> for PipelineError {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStage => f.write_str("a pipeline needs a stage"),
            Self::SeveralPorts { stage, does, ports } => {
                let ports: Vec<_> = ports.iter().map(|port| format!("`{port}`")).collect();
                write!(
                    f,
                    "stage {stage} {does} {}, but one channel joins stages",
                    ports.join(" and ")
                )
            }
            Self::Misfit { stage, misfit } => write!(f, "stage {stage} does not fit: {misfit}"),
            Self::TooLarge(error) => error.fmt(f),
        }
    }
}

impl Error for PipelineError {}

crate::error::debug_as_told!(PipelineError);
