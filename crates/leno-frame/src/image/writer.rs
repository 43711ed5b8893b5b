//! Frames into bytes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

use postcard::ser_flavors::Flavor;

use super::checksum::checksum;
use super::{Format, HEADER, Image, MAGIC, VERSION, json, varint};
use crate::describe::{Function, Place};
use crate::error::{StoreError, panic_text};
use crate::persist::Persist;
use crate::shape;

pub(crate) struct Writer {
    format: Format,
    bytes: Vec<u8>,
    /// How many locals the current frame has so far, and where its shape will be.
    count: usize,
    head: usize,
    error: Option<StoreError>,
    /// Whether frames may still come; of JSON only.
    open: bool,
}

impl Writer {
    pub(crate) fn new(format: Format, mut bytes: Vec<u8>, frames: usize) -> Self {
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
        Writer { format, bytes, count: 0, head: 0, error: None, open: true }
    }

    /// Whether the shape of a frame is not known yet: once it is, its type alone says what it is.
    pub(crate) fn wants_shape(&self, function: &Function, place: &Place) -> bool {
        self.format == Format::Postcard && (function.generic || place.shape.load(Relaxed) == 0)
    }

    pub(crate) fn begin(&mut self, function: &Function, place: &Place) {
        self.count = 0;
        match self.format {
            Format::Postcard => {
                self.bytes.extend_from_slice(&function.id.to_le_bytes());
                self.bytes.extend_from_slice(&place.id.to_le_bytes());
                self.head = self.bytes.len();
                self.bytes.extend_from_slice(&[0; 4]);
                varint::put(&mut self.bytes, place.locals.len());
            }
            Format::Json => json::begin(&mut self.bytes, function.name, place.label),
        }
    }

    pub(crate) fn put<T: Persist>(&mut self, name: &str, value: &T) -> Result<(), String> {
        let first = self.count == 0;
        self.count += 1;
        let start = self.bytes.len();
        match self.format {
            Format::Postcard => {
                self.bytes.push(0);
                let done = postcard::serialize_with_flavor(value, Append(&mut self.bytes));
                done.map_err(|error| error.to_string())?;
                let length = self.bytes.len() - start - 1;
                if length < 0x80 {
                    self.bytes[start] = length as u8;
                } else {
                    let mut prefix = Vec::with_capacity(9);
                    varint::put(&mut prefix, length);
                    self.bytes.splice(start..=start, prefix);
                }
                Ok(())
            }
            Format::Json => {
                if !first {
                    self.bytes.push(b',');
                }
                json::put(&mut self.bytes, name, value)
            }
        }
    }

    pub(crate) fn end(&mut self, function: &Function, place: &Place, shape: u32) {
        if self.format == Format::Json {
            return self.bytes.extend_from_slice(json::END_OF_FRAME.as_bytes());
        }
        let shape = if self.wants_shape(function, place) {
            let shape = shape | 1;
            if !function.generic {
                place.shape.store(shape, Relaxed);
            }
            shape
        } else {
            place.shape.load(Relaxed)
        };
        self.bytes[self.head..self.head + 4].copy_from_slice(&shape.to_le_bytes());
    }

    /// The value the coroutine is suspended with. After the frames.
    pub(crate) fn put_yielded<T: Persist>(&mut self, value: &T) {
        let put = catch_unwind(AssertUnwindSafe(|| match self.format {
            Format::Postcard => {
                self.bytes.extend_from_slice(&shape::at::<T>(0).to_le_bytes());
                self.put("", value)
            }
            Format::Json => {
                self.end_of_frames();
                json::put_yielded(&mut self.bytes, value)
            }
        }));
        match put {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => self.fail(StoreError::Yielded(cause)),
            Err(payload) => {
                let text = panic_text(&*payload);
                self.fail(StoreError::Yielded(format!("its `Serialize` panicked: {text}")));
            }
        }
    }

    fn end_of_frames(&mut self) {
        if self.bytes.last() == Some(&b',') {
            self.bytes.pop();
        }
        self.bytes.extend_from_slice(json::END_OF_FRAMES.as_bytes());
        self.open = false;
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
