//! Routines by name, with their types forgotten.

use std::marker::PhantomData;

use leno_frame::{Entry, Format, Image, Options, Resumable, Routine, State, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stage::{Lent, Stage};
use crate::wait::{FromWake, Until, Wait, Wake, value};

/// How sessions of a routine are kept.
#[derive(Clone, Debug)]
pub struct Kept {
    pub(crate) version: u32,
    pub(crate) format: Format,
    pub(crate) options: Options,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { version: 1, format: Format::Postcard, options: Options::new() }
    }
}

impl Kept {
    /// Version 1, compact images, nothing bound.
    pub fn new() -> Self {
        Kept::default()
    }

    /// The version of the routine. Sessions are not leased to builds that know only an earlier one than ran them
    /// last; so raise it when what is stored changes, and old and new builds can run side by side.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// The format of images. JSON ones are larger, and can be read and migrated by name.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// How images are restored: externals, renamed functions, migrations.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }
}

/// A routine that sessions can run, a `#[resumable]` function for which all this is true:
/// - what it suspends with says what it waits for: a [`Wait`], a `String`, or what can be made into a [`Wait`];
/// - what it goes on with can be made of what wakes it: see [`FromWake`];
/// - what it returns can be written as JSON;
/// - what it is lent is [`Stage`], or nothing.
pub trait SessionRoutine:
    Routine<Yield: Into<Wait>, Input: FromWake, Output: Serialize, Context: Lent>
{
}

impl<R> SessionRoutine for R where
    R: Routine<Yield: Into<Wait>, Input: FromWake, Output: Serialize, Context: Lent>
{
}

/// What came of a step.
pub(crate) enum Said {
    Waits(Wait),
    Done(Value),
}

/// A session that is in memory.
pub(crate) trait Live: Send {
    /// Runs a step. `Err` is why this does not wake it; then it is as before.
    fn step(&mut self, wake: Option<Wake>, stage: &mut Stage) -> Result<Said, String>;
    fn image(&mut self) -> Result<Vec<u8>, String>;
    /// Whether its first step is still to come, for which it waits for nothing.
    fn is_new(&self) -> bool;
}

/// A routine.
pub(crate) trait Kind: Send + Sync {
    fn version(&self) -> u32;
    fn open(&self, image: &[u8]) -> Result<Box<dyn Live>, String>;
    fn check_arguments(&self, json: &[u8]) -> Result<(), String>;
    fn check_answer(&self, body: &[u8]) -> Result<(), String>;
    /// An image for people.
    fn show(&self, image: &[u8]) -> Result<Value, String>;
}

/// The first byte of an image of a session that has not begun; its arguments as JSON follow.
pub(crate) const ARGUMENTS: u8 = b'A';

pub(crate) struct Registered<R, A, F> {
    pub(crate) entry: F,
    pub(crate) kept: Kept,
    pub(crate) _types: PhantomData<fn(R, A)>,
}

type Coroutine<R> = Resumable<
    <R as Routine>::Yield,
    <R as Routine>::Input,
    <R as Routine>::Output,
    <R as Routine>::Context,
>;

enum Stored<'a> {
    Arguments(&'a [u8]),
    Image(Image),
}

fn read(image: &[u8]) -> Result<Stored<'_>, String> {
    match image.split_first() {
        Some((&ARGUMENTS, json)) => Ok(Stored::Arguments(json)),
        _ => Image::from_bytes(image).map(Stored::Image).map_err(|error| error.to_string()),
    }
}

impl<R, A, F> Registered<R, A, F>
where
    R: Routine,
    A: DeserializeOwned,
    F: Entry<R, A> + Clone,
{
    fn restore(&self, image: &Image) -> Result<Coroutine<R>, String> {
        Resumable::restore(self.entry.clone(), image, &self.kept.options)
            .map_err(|error| error.to_string())
    }

    fn arguments(json: &[u8]) -> Result<A, String> {
        json::from_slice(json).map_err(|error| format!("the arguments cannot be read: {error}"))
    }
}

impl<R, A, F> Kind for Registered<R, A, F>
where
    R: SessionRoutine,
    A: DeserializeOwned + Send + 'static,
    F: Entry<R, A> + Clone + Send + Sync + 'static,
{
    fn version(&self) -> u32 {
        self.kept.version
    }

    fn open(&self, image: &[u8]) -> Result<Box<dyn Live>, String> {
        let place = match read(image)? {
            Stored::Arguments(json) => Place::New(self.entry.clone(), Self::arguments(json)?),
            Stored::Image(image) => Place::Begun(self.restore(&image)?),
        };
        Ok(Box::new(Running::<R, A, F> { place, format: self.kept.format }))
    }

    fn check_arguments(&self, json: &[u8]) -> Result<(), String> {
        Self::arguments(json).map(drop)
    }

    fn check_answer(&self, body: &[u8]) -> Result<(), String> {
        R::Input::from_wake(Wake::Answer(body.to_vec())).map(drop)
    }

    fn show(&self, image: &[u8]) -> Result<Value, String> {
        let image = match read(image)? {
            Stored::Arguments(json) => {
                let arguments: Value = json::from_slice(json).map_err(|error| error.to_string())?;
                // Moved, where `json!` would write it anew, as deep as it is.
                return Ok(Value::Object(
                    [("arguments".to_owned(), arguments)].into_iter().collect(),
                ));
            }
            Stored::Image(image) if image.format() == Format::Json => image,
            Stored::Image(image) => {
                self.restore(&image)?.snapshot(Format::Json).map_err(|error| error.to_string())?
            }
        };
        json::from_slice(image.as_bytes()).map_err(|error| error.to_string())
    }
}

struct Running<R: Routine, A, F> {
    place: Place<R, A, F>,
    format: Format,
}

enum Place<R: Routine, A, F> {
    New(F, A),
    Begun(Coroutine<R>),
    /// It panicked, or is being started.
    Gone,
}

impl<R, A, F> Live for Running<R, A, F>
where
    R: SessionRoutine,
    A: Send,
    F: Entry<R, A> + Send,
{
    fn step(&mut self, wake: Option<Wake>, stage: &mut Stage) -> Result<Said, String> {
        // It stays where it is while it runs: if it panics, its values are not dropped while that unwinds.
        let state = if let Place::Begun(coroutine) = &mut self.place {
            let input = R::Input::from_wake(wake.unwrap_or(Wake::Step))?;
            R::Context::lend(stage, |context| coroutine.resume(context, input))
        } else {
            let Place::New(entry, arguments) = std::mem::replace(&mut self.place, Place::Gone)
            else {
                return Err("it has panicked".into());
            };
            let (coroutine, state) =
                R::Context::lend(stage, |context| Resumable::start(context, entry, arguments));
            self.place = Place::Begun(coroutine);
            state
        };
        Ok(match state {
            State::Suspended(said) => Said::Waits(said.into()),
            State::Complete(result) => Said::Done(value(&result)),
        })
    }

    fn image(&mut self) -> Result<Vec<u8>, String> {
        match &mut self.place {
            Place::Begun(coroutine) => coroutine
                .snapshot(self.format)
                .map(Image::into_bytes)
                .map_err(|error| error.to_string()),
            Place::New(..) | Place::Gone => Err("there is nothing to store".into()),
        }
    }

    fn is_new(&self) -> bool {
        matches!(self.place, Place::New(..))
    }
}

impl From<Until> for crate::store::Next {
    fn from(until: Until) -> Self {
        match until {
            Until::Now => crate::store::Next::Ready,
            Until::After(time) => crate::store::Next::After(time),
            Until::Answer(time) => crate::store::Next::Message(time),
        }
    }
}
