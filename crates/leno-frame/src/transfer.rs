//! Frames on their way into an image or out of one.

use std::cell::Cell;

use leno_context::user::{self, Panic};

use crate::describe::{Function, Place};
use crate::error::{StoreError, is_exit, panicked};
use crate::image::reader::Reader;
use crate::image::writer::Writer;
use crate::persist::Persist;
use crate::shape;

/// What the core of a coroutine holds while it is stored or restored.
pub(crate) enum Transfer {
    Write(Writer),
    Read(Reader),
}

/// One frame while it is written.
#[doc(hidden)]
pub struct Capture<'a> {
    home: &'a Cell<Option<Box<Transfer>>>,
    transfer: Option<Box<Transfer>>,
    function: &'static Function,
    place: &'static Place,
    /// Whether the shape is not known yet, and what the types so far add up to.
    asking: bool,
    shape: u32,
    count: u32,
}

impl<'a> Capture<'a> {
    #[inline]
    pub(crate) fn begin(
        home: &'a Cell<Option<Box<Transfer>>>,
        function: &'static Function,
        point: u32,
    ) -> Self {
        let (mut transfer, place) = (home.take(), function.place(point));
        let asking = match transfer.as_deref_mut() {
            Some(Transfer::Write(writer)) => writer.begin(function, place),
            _ => {
                panic!("a frame is captured while its coroutine is stored, and not at other times")
            }
        };
        Capture { home, transfer, function, place, asking, shape: 0, count: 0 }
    }

    #[inline]
    fn writer(&mut self) -> Option<&mut Writer> {
        match self.transfer.as_deref_mut() {
            Some(Transfer::Write(writer)) => Some(writer),
            _ => None,
        }
    }

    /// Writes a local. Out of line: one copy for each type, not for each suspension.
    ///
    /// A `Serialize` that panics is an error: the frame must not unwind, or it could not go on. An exit is raised
    /// again when all frames wait as before. After either nothing more is written.
    #[inline(never)]
    pub fn put<T: Persist>(&mut self, name: &'static str, value: &T) {
        let (first, count) = (self.count == 0, self.count);
        self.count += 1;
        if self.asking {
            match user::call(|| shape::at::<T>(count)) {
                Ok(Ok(shape)) => self.shape = self.shape.wrapping_add(shape),
                Ok(Err(cause)) => return self.fail(name, Ok(Err(cause))),
                Err(exit) => return self.fail(name, Err(exit)),
            }
        }
        let Some(writer) = self.writer() else { return };
        if writer.has_failed() {
            return;
        }
        let put = user::call(|| writer.put(first, name, value));
        if !matches!(put, Ok(Ok(()))) {
            self.fail(name, put);
        }
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, local: &'static str, put: Result<Result<(), String>, Panic>) {
        // What the types so far add up to is not the shape.
        self.asking = false;
        let (function, point) = (self.function.name, self.place.label);
        let Some(writer) = self.writer() else { return };
        let cause = match put {
            Ok(put) => Some(put.err().unwrap_or_default()),
            Err(panic) if is_exit(&panic) => {
                writer.exit(panic);
                None
            }
            Err(panic) => Some(panicked("Serialize", panic)),
        };
        if let Some(cause) = cause {
            writer.fail(StoreError::Encode { function, point, local, cause });
        }
    }

    #[inline(never)]
    pub fn end(mut self) {
        let (function, place) = (self.function, self.place);
        let asked = self.asking.then_some(self.shape);
        if let Some(writer) = self.writer() {
            writer.end(function, place, asked);
        }
    }
}

impl Drop for Capture<'_> {
    #[inline]
    fn drop(&mut self) {
        self.home.set(self.transfer.take());
    }
}
