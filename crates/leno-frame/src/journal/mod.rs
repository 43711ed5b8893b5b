//! Coroutines stored as their inputs.
//!
//! A body that is a function of its inputs need not be stored: it is run again with the same inputs, and is then
//! where it was. So it may be any code (borrows, guards and closures across suspensions, a stackful
//! coroutine), and only what goes in has to be data. What is lost: a journal grows with each input, replaying
//! takes as long as running did, and code that was changed may do something else. That is noticed: a
//! journal has a digest of everything the body answered, and a replay that answers otherwise is refused.
//!
//! A body of frames has both: [`Journaled::checkpoint`] puts an image of it in place of the inputs so far.
//!
//! ```
//! use leno_frame::State;
//! use leno_frame::journal::{Journal, Journaled, Pen, run};
//!
//! // Plain async code: `longest` is a borrow, and no frame could hold it.
//! let body = |words: Vec<String>| {
//!     run(async move |pen: Pen<String, usize>| {
//!         let mut longest = "";
//!         loop {
//!             match words.get(pen.suspend(longest.to_owned()).await) {
//!                 Some(word) if word.len() > longest.len() => longest = word,
//!                 Some(_) => {}
//!                 None => return longest.len(),
//!             }
//!         }
//!     })
//! };
//! let words: Vec<String> = ["a", "leno", "warp"].map(String::from).into();
//! let (mut first, _) = Journaled::start("longest", words, body)?;
//! first.resume(1)?;
//! let bytes = first.journal().to_bytes();
//! drop(first);
//!
//! // Later, elsewhere.
//! let journal = Journal::from_bytes(&bytes)?;
//! let (mut again, state) = Journaled::replay("longest", &journal, body)?;
//! assert_eq!(state, State::Suspended("leno".into()));
//! assert_eq!(again.resume(9)?, State::Complete(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What makes a body a function of its inputs is that it sees nothing else: no clock, no chance, no channel, no
//! global. The compiler does not know. What a body does to the world, it does again when it is replayed; let
//! it ask for that by suspending, and do it outside.

mod body;
mod error;
mod record;

use leno_context::user;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use body::{Async, Body, Pen, run};
pub use error::{JournalError, RecordError};
pub use record::Journal;

use crate::error::panic_text;
use crate::image::{Format, Image};
use crate::persist::Persist;
use crate::resumable::{Resumable, State};
use crate::{RestoreError, StoreError};

/// A coroutine that writes down what goes in.
#[derive(Debug)]
pub struct Journaled<B> {
    body: B,
    journal: Journal,
    ended: Option<Ended>,
}

#[derive(Debug, Clone, Copy)]
enum Ended {
    Completed,
    Poisoned,
}

/// What a body answers.
type Answer<B, I> = State<<B as Body<I>>::Yield, <B as Body<I>>::Output>;

/// A body that was started or replayed, and what it has answered.
type Replayed<B, S> = Result<(Journaled<B>, S), JournalError>;

impl<B> Journaled<B> {
    /// Starts a body. `name` says what it is; a journal of another one is refused. `make` runs it to its first
    /// suspension, as [`run`] and [`Resumable::start`] do.
    ///
    /// # Errors
    /// If the arguments cannot be written; nothing was started then.
    ///
    /// # Panics
    /// If the body panics.
    pub fn start<A, I, Y, T>(
        name: &str,
        arguments: A,
        make: impl FnOnce(A) -> (B, State<Y, T>),
    ) -> Replayed<B, State<Y, T>>
    where
        A: Serialize + DeserializeOwned + 'static,
        I: Serialize + DeserializeOwned + 'static,
        Y: Serialize,
        T: Serialize,
        B: Body<I, Yield = Y, Output = T>,
    {
        let mut journal = Journal::new::<A, I>(name, &arguments)?;
        let (body, state) = make(arguments);
        journal.answered(&state);
        Ok((Journaled { body, journal, ended: ended(&state) }, state))
    }

    /// Goes on with this input, and writes it down if the body does not panic.
    ///
    /// # Errors
    /// If the input cannot be written, or the body has completed, or has panicked: then it has not gone on, and
    /// the input is given back.
    ///
    /// # Panics
    /// If the body panics, or the `Serialize` of what it answers. Its journal is that of the time before.
    pub fn resume<I>(&mut self, input: I) -> Result<Answer<B, I>, RecordError<I>>
    where
        I: Serialize,
        B: Body<I, Yield: Serialize, Output: Serialize>,
    {
        match self.ended {
            Some(Ended::Completed) => return Err(RecordError::Completed(input)),
            Some(Ended::Poisoned) => return Err(RecordError::Poisoned(input)),
            None => {}
        }
        let bytes = match postcard::to_stdvec(&input) {
            Ok(bytes) => bytes,
            Err(error) => return Err(RecordError::Encode { input, cause: error.to_string() }),
        };
        self.ended = Some(Ended::Poisoned);
        let state = self.body.go(input);
        self.journal.went_on(&bytes, &state);
        self.ended = ended(&state);
        Ok(state)
    }

    /// Makes a body and gives it all inputs again. It returns what the last of them led to.
    ///
    /// # Errors
    /// If the journal is another body's, or begins with an image; if what was written cannot be read as what
    /// this build takes; if the body answers otherwise than it did, or panics.
    pub fn replay<A, I, Y, T>(
        name: &str,
        journal: &Journal,
        make: impl FnOnce(A) -> (B, State<Y, T>),
    ) -> Replayed<B, State<Y, T>>
    where
        A: DeserializeOwned + 'static,
        I: DeserializeOwned + 'static,
        Y: Serialize,
        T: Serialize,
        B: Body<I, Yield = Y, Output = T>,
    {
        journal.is_of(name)?;
        let arguments = journal.arguments::<A, I>()?;
        let (body, state) = caught(0, || make(arguments))?;
        journal.compare_start(&state)?;
        let ended = ended(&state);
        let mut this = Journaled { body, journal: journal.clone(), ended };
        let state = this.catch_up(journal)?.unwrap_or(state);
        Ok((this, state))
    }

    /// As [`Journaled::replay`], for a journal that begins with an image: `restore` makes the body of it.
    /// There is no state if nothing was put in after the checkpoint.
    ///
    /// # Errors
    /// As [`Journaled::replay`]; [`JournalError::NoImage`] if there was no checkpoint.
    pub fn replay_from<I>(
        name: &str,
        journal: &Journal,
        restore: impl FnOnce(&Image) -> Result<B, RestoreError>,
    ) -> Replayed<B, Option<Answer<B, I>>>
    where
        I: DeserializeOwned + 'static,
        B: Body<I, Yield: Serialize, Output: Serialize>,
    {
        journal.is_of(name)?;
        let image = journal.image()?.ok_or(JournalError::NoImage)?;
        journal.takes::<(), I>()?;
        let body = restore(&image)?;
        let mut this = Journaled { body, journal: journal.clone(), ended: None };
        let state = this.catch_up(journal)?;
        Ok((this, state))
    }

    fn catch_up<I>(&mut self, journal: &Journal) -> Result<Option<Answer<B, I>>, JournalError>
    where
        I: DeserializeOwned,
        B: Body<I, Yield: Serialize, Output: Serialize>,
    {
        let mut last = None;
        for (step, entry) in (1..).zip(journal.entries()) {
            if self.ended.is_some() {
                return Err(JournalError::Drift { step });
            }
            let entry = entry?;
            let input = entry.input::<I>(step)?;
            let state = caught(step, || self.body.go(input))?;
            entry.compare(step, &state)?;
            self.ended = ended(&state);
            last = Some(state);
        }
        Ok(last)
    }

    /// What was written down so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The body, without its journal.
    pub fn into_body(self) -> B {
        self.body
    }
}

impl<Y, I, T> Journaled<Resumable<Y, I, T>>
where
    Y: Send + 'static,
    I: Persist,
    T: Send + 'static,
{
    /// Puts an image of the coroutine in place of the inputs so far: the journal is as short as at the start.
    ///
    /// # Errors
    /// As [`Resumable::snapshot`]; the journal is as before then.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        let types = record::types::<(), I>().map_err(StoreError::Types)?;
        let image = self.body.snapshot(Format::Postcard)?;
        self.journal.begin_with(types, image);
        Ok(())
    }
}

fn ended<Y, T>(state: &State<Y, T>) -> Option<Ended> {
    matches!(state, State::Complete(_)).then_some(Ended::Completed)
}

/// Runs a body that is replayed: where it did not panic before, a panic is a difference.
fn caught<R>(step: usize, go: impl FnOnce() -> R) -> Result<R, JournalError> {
    user::call(go).map_err(|panic| JournalError::Panicked { step, cause: panic_text(panic) })
}
