//! What a `Serialize` or `Deserialize` cannot be given as an argument: which shared values were met
//! already, and what externals are bound to. It is kept by thread, while one coroutine is stored or
//! restored there.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::external::Bindings;

/// Shared values that were written, by address, with their numbers.
pub(crate) type Written = HashMap<usize, u32>;

#[derive(Default)]
pub(crate) struct Reading {
    pub bindings: Bindings,
    /// Shared values that were read, by number.
    pub shared: HashMap<u32, Arc<dyn Any + Send + Sync>>,
    /// What an external complained about: postcard does not keep texts of errors.
    complaint: Option<String>,
}

thread_local! {
    static WRITTEN: RefCell<Option<Written>> = const { RefCell::new(None) };
    static READING: RefCell<Option<Reading>> = const { RefCell::new(None) };
}

/// Ends a scope, also when it is left by a panic, and goes back to the one around it.
pub(crate) enum Scope {
    Write(Option<Written>),
    Read(Option<Reading>),
}

pub(crate) fn write() -> Scope {
    Scope::Write(WRITTEN.replace(Some(Written::new())))
}

pub(crate) fn read(bindings: &Bindings) -> Scope {
    let reading = Reading { bindings: bindings.clone(), ..Reading::default() };
    Scope::Read(READING.replace(Some(reading)))
}

impl Drop for Scope {
    fn drop(&mut self) {
        match self {
            Scope::Write(outer) => drop(WRITTEN.replace(outer.take())),
            Scope::Read(outer) => drop(READING.replace(outer.take())),
        }
    }
}

pub(crate) fn with_written<R>(with: impl FnOnce(Option<&mut Written>) -> R) -> R {
    WRITTEN.with_borrow_mut(|written| with(written.as_mut()))
}

pub(crate) fn with_reading<R>(with: impl FnOnce(Option<&mut Reading>) -> R) -> R {
    READING.with_borrow_mut(|reading| with(reading.as_mut()))
}

pub(crate) fn complain(text: String) {
    with_reading(|reading| {
        if let Some(reading) = reading {
            reading.complaint = Some(text);
        }
    });
}

pub(crate) fn take_complaint() -> Option<String> {
    with_reading(|reading| reading?.complaint.take())
}
