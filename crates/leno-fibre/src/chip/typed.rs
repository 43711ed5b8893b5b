//! Chips that say what they do: their control types, and those of what is made of them.
//!
//! The chips of this crate declare theirs. A pipeline has the types of its stages, from which its own,
//! the principal one, is worked out when someone asks. Two stages whose types cannot work together are
//! refused when they are piped, before anything runs.

use std::rc::Rc;
use std::sync::LazyLock;

use leno_control::{ControlType, Misfit, fits, pipeline};

use super::Chip;
use crate::bind::Bind;
use crate::room::roomy;

/// What is known of a chip's type: that of each of its stages, if all are known.
#[derive(Clone, Default)]
pub(super) struct Types {
    stages: Option<Rc<[ControlType]>>,
    /// Those of which one fibre can be made, if they are others: each stage that was fused is one.
    parts: Option<Rc<[ControlType]>>,
    /// The fibre that runs it is held against it.
    is_held: bool,
    /// It is a pipeline: what its fibres do among themselves is not in its type.
    is_composed: bool,
}

impl Types {
    pub(super) fn held(&self) -> Option<&ControlType> {
        match &self.stages {
            Some(stages) if self.is_held => stages.first(),
            _ => None,
        }
    }

    /// Those of both, one after the other.
    pub(super) fn then(&self, next: &Types) -> Types {
        let both = |own: Option<Rc<[ControlType]>>, next: Option<Rc<[ControlType]>>| {
            let (own, next) = own.zip(next)?;
            Some(own.iter().chain(next.iter()).cloned().collect())
        };
        let stages = both(self.stages.clone(), next.stages.clone());
        let parts = both(self.parts(), next.parts());
        Types { stages, parts, is_held: false, is_composed: true }
    }

    /// Of which one fibre can be made.
    pub(super) fn parts(&self) -> Option<Rc<[ControlType]>> {
        self.parts.clone().or_else(|| self.stages.clone())
    }

    /// Those of one fibre that is made of all.
    pub(super) fn fused(&self, own: ControlType) -> Types {
        let stages = Some(Rc::new([own]) as Rc<[ControlType]>);
        Types { stages, parts: self.parts(), is_held: false, is_composed: false }
    }

    pub(super) fn is_composed(&self) -> bool {
        self.is_composed
    }

    /// Whether the next one can work behind this one, as far as their types are known.
    pub(super) fn fits(&self, next: &Types) -> Result<(), Misfit> {
        match (&self.stages, &next.stages) {
            (Some(own), Some(next)) if !own.is_empty() && !next.is_empty() => {
                roomy(|| fits(&own[own.len() - 1], &next[0]))
            }
            _ => Ok(()),
        }
    }
}

impl<P: Bind> Chip<P> {
    /// Declares its control type, and holds each fibre that runs it against that: it panics before
    /// the first event that is not allowed; see [`Spawner::control_type`](crate::Spawner::control_type).
    /// Of a pipeline it only declares it: what its stages do, they are held against themselves.
    ///
    /// # Examples
    /// ```
    /// use leno_fibre::chip::Transducer;
    ///
    /// let function = Transducer::new("twice", |cx, (inp, out)| loop {
    ///     let n: u32 = inp.read(cx);
    ///     out.write(cx, n);
    ///     out.write(cx, n);
    /// });
    /// let function = function.of_type(&"(RW)+".parse().unwrap());
    /// let ran = leno_fibre::run(move |cx| {
    ///     let ((to, inp), (out, from)) = (leno_fibre::channel(), leno_fibre::channel());
    ///     let function = function.start(cx, (inp, out));
    ///     to.write(cx, 1);
    ///     from.read(cx);
    ///     function.join(cx).unwrap_err().to_string()
    /// });
    /// let text = ran.result().unwrap();
    /// assert!(text.contains("`(RW)+` does not allow W as event 3"), "{text}");
    /// ```
    pub fn of_type(mut self, control: &ControlType) -> Chip<P> {
        let is_composed = self.types.is_composed;
        let stages = Some(Rc::new([control.clone()]) as Rc<[ControlType]>);
        self.types = Types { stages, parts: None, is_held: !is_composed, is_composed };
        self
    }

    /// Holds each fibre that runs it against the type that it has declared, if it has, and is no
    /// pipeline.
    pub fn held(mut self) -> Chip<P> {
        self.types.is_held = !self.types.is_composed;
        self
    }

    /// What it can do, and in which order; of a pipeline, its principal type. `None` if it, or one of
    /// its stages, has not declared any, or there are too many states.
    ///
    /// # Examples
    /// ```
    /// use leno_fibre::chip::{filter_map, function, iterate};
    ///
    /// let both = function(|n: u32| n + 1) | function(|n: u32| n * 2);
    /// assert_eq!(both.control_type().unwrap().to_string(), "(R(RW)*W)+");
    /// let source = iterate(0..10) | filter_map(|n: u32| n.checked_sub(5));
    /// assert_eq!(source.control_type().unwrap().to_string(), "W*");
    /// ```
    pub fn control_type(&self) -> Option<ControlType> {
        pipeline(self.types.stages.as_deref()?).ok()
    }

    /// Declares the type of a chip of this crate, which keeps to it.
    pub(super) fn known(self, control: &LazyLock<ControlType>) -> Chip<P> {
        self.typed(LazyLock::force(control).clone())
    }

    /// Declares what is known to be its type.
    pub(super) fn typed(mut self, control: ControlType) -> Chip<P> {
        self.types.stages = Some(Rc::new([control]));
        self
    }

    pub(super) fn with_types(mut self, types: Types) -> Chip<P> {
        self.types = types;
        self
    }
}

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub(super) static $name: LazyLock<ControlType> =
            LazyLock::new(|| $text.parse().expect("a type"));)*
    };
}

types! {
    /// Writes one value.
    VALUE = "W";
    /// Writes for ever.
    SOURCE = "W+";
    /// Writes as long as it likes.
    LIST = "W*";
    /// Reads for ever.
    SINK = "R+";
    /// Reads one value and writes one.
    ONESHOT = "RW";
    /// The same for ever.
    FUNCTION = "(RW)+";
    /// Does not write for each value that it reads.
    PARTIAL = "((R+)W)+";
    /// Writes two values for each.
    SPLITTER = "(RWW)+";
    /// Writes one value for two.
    JOINER = "(RRW)+";
    /// Writes as many values as it likes for each that it reads.
    EXPANDER = "(RW*)+";
}
