//! Storing coroutines and restoring them.

use crate::drive::Stop;
use crate::error::{RestoreError, StoreError};
use crate::handle::frame_of;
use crate::image::reader::Reader;
use crate::image::writer::Writer;
use crate::image::{Format, Image, Options};
use crate::persist::Persist;
use crate::raw::core::Core;
use crate::resumable::Resumable;
use crate::routine::{Entry, Routine};
use crate::scope;
use crate::transfer::Transfer;

/// Ends storing or restoring, also when it is left by a panic.
struct During<'a, Y, I, C>(&'a Core<Y, I, C>);

impl<'a, Y, I, C> During<'a, Y, I, C> {
    fn new(core: &'a Core<Y, I, C>, transfer: Transfer) -> Self {
        core.restoring.set(matches!(transfer, Transfer::Read(_)));
        core.transfer.set(Some(Box::new(transfer)));
        During(core)
    }
}

impl<Y, I, C> Drop for During<'_, Y, I, C> {
    fn drop(&mut self) {
        self.0.restoring.set(false);
        self.0.transfer.set(None);
    }
}

impl<Y: Send + 'static, I: Send + 'static, T: Send + 'static, C: 'static> Resumable<Y, I, T, C> {
    /// Stores the coroutine. It can go on all the same: an image is a fork of it.
    ///
    /// # Errors
    /// If it has completed or panicked, or if a local cannot be written; it is as before then.
    pub fn snapshot(&mut self, format: Format) -> Result<Image, StoreError> {
        self.snapshot_into(format, Vec::new())
    }

    /// As [`Resumable::snapshot`], into a buffer that is there already; what it holds is lost.
    ///
    /// # Errors
    /// As [`Resumable::snapshot`].
    pub fn snapshot_into(&mut self, format: Format, buffer: Vec<u8>) -> Result<Image, StoreError> {
        self.write_frames(format, buffer)?.finish()
    }

    /// As [`Resumable::snapshot`], with the value it is suspended with: whoever restores the image finds it by
    /// [`Image::yielded`], such as the question that is still to be answered.
    ///
    /// # Errors
    /// As [`Resumable::snapshot`]; [`StoreError::Yielded`] if the value cannot be written.
    pub fn snapshot_with(&mut self, format: Format, yielded: &Y) -> Result<Image, StoreError>
    where
        Y: Persist,
    {
        let mut writer = self.write_frames(format, Vec::new())?;
        writer.put_yielded(yielded);
        writer.finish()
    }

    fn write_frames(&mut self, format: Format, buffer: Vec<u8>) -> Result<Writer, StoreError> {
        if self.is_poisoned() {
            return Err(StoreError::Poisoned);
        }
        let frames = self.depth();
        if frames == 0 {
            return Err(StoreError::Completed);
        }
        let link = self.stack.owner.link();
        let scope = scope::write();
        let transfer = Transfer::Write(Writer::new(format, buffer, frames, scope.id()));
        let during = During::new(link.core(), transfer);
        let captured = self.stack.poll_all();
        drop(scope);
        let transfer = link.core().transfer.take();
        drop(during);
        match transfer.map(|transfer| *transfer) {
            Some(Transfer::Write(mut writer)) => {
                writer.pass_on();
                if captured { Ok(writer) } else { Err(StoreError::Poisoned) }
            }
            // A body that was written by hand has kept it.
            _ => Err(StoreError::Poisoned),
        }
    }

    /// Makes a coroutine of an image. `entry` is the function it was started with; only its type counts.
    ///
    /// # Errors
    /// If the image does not fit this build, with what has changed; if it is damaged; if an external is
    /// not bound.
    pub fn restore<R, A, F>(
        entry: F,
        image: &Image,
        options: &Options,
    ) -> Result<Self, RestoreError>
    where
        R: Routine<Yield = Y, Input = I, Context = C, Output = T>,
        F: Entry<R, A>,
    {
        drop(entry);
        let scope = scope::read(&options.bindings);
        let reader = Reader::new(image, options, scope.id())?;
        let mut this = Self::empty();
        let link = this.stack.owner.link();
        this.stack.reserve(reader.left());
        this.stack.push(frame_of::<R>(link, None));
        let during = During::new(link.core(), Transfer::Read(reader));
        this.stack.run_first();
        let stop = this.stack.run_on();
        drop(scope);
        let mut transfer = link.core().transfer.take();
        drop(during);
        let Some(Transfer::Read(reader)) = transfer.as_deref_mut() else {
            // A body that was written by hand has panicked, and caught it, while it had the reader.
            return Err(RestoreError::NoFrame);
        };
        reader.finish(matches!(stop, Stop::Leaf)).map(|()| this)
    }

    /// Puts the frames of an image in place of those the coroutine has.
    ///
    /// # Errors
    /// As [`Resumable::restore`]; it keeps its frames then.
    pub fn replace<R, A, F>(
        &mut self,
        entry: F,
        image: &Image,
        options: &Options,
    ) -> Result<(), RestoreError>
    where
        R: Routine<Yield = Y, Input = I, Context = C, Output = T>,
        F: Entry<R, A>,
    {
        *self = Self::restore(entry, image, options)?;
        Ok(())
    }

    /// The same frames in another format: how to look into a compact image. (The value it was suspended with
    /// is not among them: see [`Image::yielded`].)
    ///
    /// # Errors
    /// As [`Resumable::restore`]; [`RestoreError::Decode`] if what was read cannot be written.
    pub fn transcode<R, A, F>(
        entry: F,
        image: &Image,
        format: Format,
        options: &Options,
    ) -> Result<Image, RestoreError>
    where
        R: Routine<Yield = Y, Input = I, Context = C, Output = T>,
        F: Entry<R, A>,
    {
        let mut restored = Self::restore(entry, image, options)?;
        restored.snapshot(format).map_err(|error| match error {
            StoreError::Encode { function, point, local, cause } => {
                RestoreError::Decode { function, point, local, cause }
            }
            StoreError::Completed
            | StoreError::Poisoned
            | StoreError::Yielded(_)
            | StoreError::Types(_) => RestoreError::NoFrame,
        })
    }
}
