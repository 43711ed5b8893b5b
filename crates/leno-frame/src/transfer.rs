//! Frames on their way into an image or out of one.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::describe::Function;
use crate::error::{RestoreError, StoreError, panic_text};
use crate::image::reader::Reader;
use crate::image::stored::StoredFrame;
use crate::image::writer::Writer;
use crate::persist::Persist;
use crate::shape;

/// What the core of a coroutine holds while it is stored or restored.
pub(crate) enum Transfer {
    Write(Writer),
    Read(Reader, Option<RestoreError>),
}

impl Transfer {
    pub(crate) fn read(
        &mut self,
        function: &'static Function,
    ) -> Result<Box<StoredFrame>, RestoreError> {
        match self {
            Transfer::Read(reader, _) => reader.next(function),
            Transfer::Write(_) => Err(RestoreError::NoFrame),
        }
    }

    /// Keeps the first error.
    pub(crate) fn fail(&mut self, error: RestoreError) {
        if let Transfer::Read(_, kept) = self {
            kept.get_or_insert(error);
        }
    }
}

/// One frame while it is written.
#[doc(hidden)]
pub struct Capture<'a> {
    home: &'a Cell<Option<Box<Transfer>>>,
    transfer: Option<Box<Transfer>>,
    function: &'static Function,
    point: u32,
    shape: u32,
    count: u32,
}

impl<'a> Capture<'a> {
    pub(crate) fn begin(
        home: &'a Cell<Option<Box<Transfer>>>,
        transfer: Box<Transfer>,
        function: &'static Function,
        point: u32,
    ) -> Self {
        let mut this =
            Capture { home, transfer: Some(transfer), function, point, shape: 0, count: 0 };
        this.writer(|writer, function, point| writer.begin(function, function.place(point)));
        this
    }

    fn writer(&mut self, with: impl FnOnce(&mut Writer, &'static Function, u32)) {
        if let Some(Transfer::Write(writer)) = self.transfer.as_deref_mut() {
            with(writer, self.function, self.point);
        }
    }

    /// Writes a local. Out of line: one copy for each type, not for each suspension.
    ///
    /// A `Serialize` that panics is an error: the frame must not unwind, or it could not go on.
    #[inline(never)]
    pub fn put<T: Persist>(&mut self, name: &'static str, value: &T) {
        let (function, place) = (self.function, self.function.place(self.point));
        let Some(Transfer::Write(writer)) = self.transfer.as_deref_mut() else { return };
        if writer.wants_shape(function, place) {
            self.shape = self.shape.wrapping_add(shape::at::<T>(self.count));
        }
        self.count += 1;
        let put = catch_unwind(AssertUnwindSafe(|| writer.put(name, value)));
        let cause = match put {
            Ok(Ok(())) => return,
            Ok(Err(cause)) => cause,
            Err(payload) => format!("its `Serialize` panicked: {}", panic_text(&*payload)),
        };
        writer.fail(StoreError::Encode {
            function: function.name,
            point: place.label,
            local: name,
            cause,
        });
    }

    #[inline(never)]
    pub fn end(mut self) {
        let shape = self.shape;
        self.writer(|writer, function, point| writer.end(function, function.place(point), shape));
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        self.home.set(self.transfer.take());
    }
}
