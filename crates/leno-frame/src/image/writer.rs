//! Frames into bytes.

use std::sync::atomic::Ordering::Relaxed;

use leno_context::user::{self, Panic};
use leno_coroutine::floor;
use postcard::ser_flavors::Flavor;

use super::checksum::checksum;
use super::limits::Limits;
use super::storing::Storing;
use super::{Format, HEADER, Image, MAGIC, VERSION, json, varint};
use crate::describe::{Function, Place};
use crate::error::{StoreError, panicked};
use crate::persist::Persist;
use crate::shape;

pub(crate) struct Writer {
    format: Format,
    bytes: Vec<u8>,
    /// Where the shape of the current frame is.
    head: usize,
    error: Option<StoreError>,
    /// An exit that a `Serialize` has passed on.
    exit: Option<Panic>,
    /// Whether frames may still come; of JSON only.
    open: bool,
    limits: Limits,
}

impl Writer {
    pub(crate) fn new(format: Format, mut bytes: Vec<u8>, frames: usize, scope: u64) -> Self {
        bytes.clear();
        // What small frames take; larger ones let it grow.
        bytes.reserve(HEADER + 32 * frames.min(1024));
        match format {
            Format::Postcard => {
                bytes.extend_from_slice(&MAGIC);
                bytes.push(VERSION);
                bytes.resize(HEADER, 0);
                varint::put(&mut bytes, frames);
            }
            Format::Json => bytes.extend_from_slice(json::START.as_bytes()),
        }
        Writer {
            format,
            bytes,
            head: 0,
            error: None,
            exit: None,
            open: true,
            limits: Limits::writing(scope),
        }
    }

    /// Begins a frame: whether its shape is to be found out. Once it is known, its place alone says what it is,
    /// unless its function is generic.
    pub(crate) fn begin(&mut self, function: &Function, place: &Place) -> bool {
        match self.format {
            Format::Postcard => {
                let shape = if function.generic { 0 } else { place.shape.load(Relaxed) };
                let mut numbers = [0; 12];
                numbers[..4].copy_from_slice(&function.id.to_le_bytes());
                numbers[4..8].copy_from_slice(&place.id.to_le_bytes());
                numbers[8..].copy_from_slice(&shape.to_le_bytes());
                self.bytes.extend_from_slice(&numbers);
                self.head = self.bytes.len() - 4;
                varint::put(&mut self.bytes, place.locals.len());
                shape == 0
            }
            Format::Json => {
                json::begin(&mut self.bytes, function.name, place.label);
                false
            }
        }
    }

    /// Writes a local, the first of its frame or a further one.
    #[inline]
    pub(crate) fn put<T: Persist>(
        &mut self,
        first: bool,
        name: &str,
        value: &T,
    ) -> Result<(), String> {
        let start = self.bytes.len();
        match self.format {
            Format::Postcard => {
                self.bytes.push(0);
                let mut writer = postcard::Serializer { output: Append(&mut self.bytes) };
                let done = value.serialize(Storing(&mut writer, &self.limits));
                done.map_err(|error| {
                    self.limits.take_complaint().unwrap_or_else(|| error.to_string())
                })?;
                let length = self.bytes.len() - start - 1;
                if length < 0x80 {
                    self.bytes[start] = length as u8;
                } else {
                    self.long(start, length);
                }
                Ok(())
            }
            Format::Json => {
                if !first {
                    self.bytes.push(b',');
                }
                json::put(&mut self.bytes, name, value, &self.limits)
            }
        }
    }

    /// Makes room for a length of more than one byte, where one byte was left for it.
    #[cold]
    #[inline(never)]
    fn long(&mut self, start: usize, length: usize) {
        let mut prefix = Vec::with_capacity(9);
        varint::put(&mut prefix, length);
        self.bytes.splice(start..=start, prefix);
    }

    /// Ends a frame, with what its types add up to if that was to be found out.
    pub(crate) fn end(&mut self, function: &Function, place: &Place, asked: Option<u32>) {
        match (self.format, asked) {
            (Format::Json, _) => self.bytes.extend_from_slice(json::END_OF_FRAME.as_bytes()),
            (Format::Postcard, None) => {}
            (Format::Postcard, Some(asked)) => {
                let shape = asked | 1;
                if !function.generic {
                    place.shape.store(shape, Relaxed);
                }
                self.bytes[self.head..self.head + 4].copy_from_slice(&shape.to_le_bytes());
            }
        }
    }

    /// The value the coroutine is suspended with. After the frames.
    pub(crate) fn put_yielded<T: Persist>(&mut self, value: &T) {
        if self.has_failed() {
            return;
        }
        let put = user::call(|| match self.format {
            Format::Postcard => {
                self.bytes.extend_from_slice(&shape::at::<T>(0)?.to_le_bytes());
                self.put(true, "", value)
            }
            Format::Json => {
                self.end_of_frames();
                json::put_yielded(&mut self.bytes, value, &self.limits)
            }
        });
        match put {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => self.fail(StoreError::Yielded(cause)),
            Err(panic) => self.fail(StoreError::Yielded(panicked("Serialize", panic))),
        }
    }

    fn end_of_frames(&mut self) {
        if self.bytes.last() == Some(&b',') {
            self.bytes.pop();
        }
        self.bytes.extend_from_slice(json::END_OF_FRAMES.as_bytes());
        self.open = false;
    }

    /// Whether there will be no image.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some() || self.exit.is_some()
    }

    /// Keeps an exit until all frames wait again.
    pub(crate) fn exit(&mut self, exit: Panic) {
        self.exit = floor::first(self.exit.take(), Some(exit));
    }

    /// Passes on the exit that was kept, if there is one.
    pub(crate) fn pass_on(&mut self) {
        if let Some(exit) = self.exit.take() {
            exit.resume();
        }
    }

    /// Keeps the first error.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.error.get_or_insert(error);
    }

    pub(crate) fn finish(mut self) -> Result<Image, StoreError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match self.format {
            Format::Postcard => {
                let sum = checksum(&self.bytes[HEADER..]);
                self.bytes[3..HEADER].copy_from_slice(&sum.to_le_bytes());
            }
            Format::Json => {
                if self.open {
                    self.end_of_frames();
                }
                self.bytes.extend_from_slice(json::END.as_bytes());
            }
        }
        Ok(Image::trusted(self.format, self.bytes))
    }
}

/// Lets postcard append to a buffer that has something already.
struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
