//! Control types: which events a fibre may show, in which order (Skaller 2017, sections 8 to 10).
//!
//! A fibre that reads a value, writes one and begins again has the type `(RW)+`. Such a type can be
//! parsed and printed, compared with another, composed with others over channels, and a running fibre
//! can be held against it.
//!
//! ```
//! use leno_control::ControlType;
//!
//! let function: ControlType = "(RW)+".parse()?;
//! let two = function.then(&function)?;
//! assert_eq!(two.to_string(), "(R(RW)*W)+");
//! assert_eq!(two.automaton().to_string(), "0-R->1; 1-R->2, 1-W->0; 2-W->1");
//! assert_eq!(
//!     two.included_in(&function).unwrap_err().to_string(),
//!     "`(R(RW)*W)+` allows R R, `(RW)+` does not; it allows W there"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately not here: fibres and channels. This crate only knows about types, and has no
//! dependencies; whoever runs fibres tells a [`Monitor`] what they do.
#![forbid(unsafe_code)]

/// The project's page on control types, so that its examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/control-types.md")]
struct Page;

mod automaton;
mod compose;
mod control_type;
mod error;
mod event;
mod expr;
mod fits;
mod fused;
mod grammar;
mod include;
mod machine;
mod monitor;
mod parse;
mod pipeline;
mod positions;
mod refine;
mod runs;
mod simplify;
mod work;

pub use automaton::{Automaton, State};
pub use compose::Wire;
pub use control_type::{ControlType, TypeError, compose};
pub use error::{ParseError, PortError, TooLarge};
pub use event::{Event, Port, Trace};
pub use expr::Expr;
pub use fits::{Misfit, fits, fits_over};
pub use fused::fused;
pub use grammar::{Grammar, GrammarError};
pub use include::Excess;
pub use monitor::{Letter, Monitor, Violation};
pub use pipeline::{Openness, PipelineError, checked_pipeline, pipeline};
pub use runs::Step;
