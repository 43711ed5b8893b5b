//! Time slices that can be had again.
//!
//! Where a slice of time ends depends on the machine; how many units it had does not change what comes
//! after. So a scheduler that writes down the units of each slice that was *preempted* can later give
//! the same budgets in units, and everything happens again as it did. A slice that ended by itself needs
//! no number: it ends by itself again.

use core::fmt;
use core::str::FromStr;
use std::collections::VecDeque;

use leno_kernel::{Attached, Budget};

/// The budgets of a run, in order: written down, or followed.
///
/// # Examples
/// ```
/// use leno_process::{Budget, Slices, Sink, preemptible};
/// use leno_kernel::{LocalSystem, Options};
/// use std::{cell::RefCell, rc::Rc, time::Duration};
///
/// #[preemptible]
/// fn count(name: char, said: &RefCell<String>) {
///     for n in 0..200_000 {
///         if n % 20_000 == 0 {
///             said.borrow_mut().push(name);
///         }
///     }
/// }
///
/// /// Two that count beside each other; what they said.
/// fn run(slices: &mut Slices) -> String {
///     let said: Rc<RefCell<String>> = Rc::default();
///     let (inner, mut own) = (said.clone(), core::mem::take(slices));
///     let system = LocalSystem::builder().preemptive().build();
///     let done = system.spawn(move || {
///         let sink = Sink::new();
///         for name in ['a', 'b'] {
///             let said = inner.clone();
///             drop(sink.spawn(&Options::new(), move || count(name, &said)));
///         }
///         while let Some(co) = sink.next() {
///             let budget = own.budget(Budget::time(Duration::from_micros(100)));
///             own.note(&co.attach(budget).unwrap());
///         }
///         own
///     });
///     system.run().unwrap();
///     *slices = done.join().unwrap();
///     said.take()
/// }
///
/// let mut slices = Slices::record();
/// let said = run(&mut slices);
/// let mut again: Slices = slices.to_string().parse()?;
/// assert_eq!(run(&mut again), said);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    /// Units of each, or 0 if it ended by itself.
    noted: Vec<u64>,
    /// Those that are still to be followed.
    ahead: VecDeque<u64>,
}

impl Slices {
    /// Writes down.
    pub fn record() -> Slices {
        Slices::default()
    }

    /// Follows what was written down, from its beginning; after its end it writes on.
    pub fn replay(&self) -> Slices {
        Slices { noted: Vec::new(), ahead: self.noted.clone().into() }
    }

    /// The budget of the next slice: the one that was written down, if there is one, else `wanted`.
    pub fn budget(&mut self, wanted: Budget) -> Budget {
        match self.ahead.pop_front() {
            None => wanted,
            Some(0) => Budget::Unlimited,
            Some(units) => Budget::units(units),
        }
    }

    /// What came of it.
    pub fn note(&mut self, attached: &Attached) {
        self.noted.push(if attached.is_preempted() { attached.units } else { 0 });
    }

    /// How many slices were noted.
    pub fn len(&self) -> usize {
        self.noted.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }
}

/// The units of each slice, with spaces between them; `-` for one that ended by itself.
impl fmt::Display for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, units) in self.noted.iter().enumerate() {
            let gap = if n == 0 { "" } else { " " };
            match units {
                0 => write!(f, "{gap}-")?,
                units => write!(f, "{gap}{units}")?,
            }
        }
        Ok(())
    }
}

/// To be followed, from what [`Slices`] shows.
impl FromStr for Slices {
    type Err = SlicesError;

    fn from_str(text: &str) -> Result<Slices, SlicesError> {
        let unit = |word: &str| match word {
            "-" => Ok(0),
            word => word.parse().map_err(|_| SlicesError(word.chars().take(40).collect())),
        };
        let ahead: Result<VecDeque<u64>, SlicesError> = text.split_whitespace().map(unit).collect();
        Ok(Slices { noted: Vec::new(), ahead: ahead? })
    }
}

/// A text is none of [`Slices`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicesError(String);

impl fmt::Display for SlicesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of slices has numbers of units, or '-': {:?} is neither", self.0)
    }
}

impl std::error::Error for SlicesError {}
