//! Images: a coroutine as bytes.
//!
//! Two formats, of the same content: for each frame, from the outermost on, its function, where it is
//! suspended, and its locals.
//! - **Postcard**, compact: `L F`, version, checksum (4 bytes), number of frames, and for each: id of the
//!   function, id of the label, shape of the locals (4 bytes each), number of locals, and each local with
//!   its length before it; then, if it was given, the shape of the value it is suspended with and that value,
//!   in the same way. Numbers are little-endian or, where no size is given, varints.
//! - **JSON**, for people: `{"leno":1,"frames":[{"fn":..,"at":..,"locals":{..}}]}`, perhaps with a
//!   `"yielded"`. It has names instead of
//!   ids and no checksum, so that it can be read, edited and migrated.
//!
//! Images are untrusted. [`Image::from_bytes`] checks what can be checked without knowing the code; what
//! it has accepted can be walked without another check. Whatever the bytes, the answer is an error and
//! not a panic, and memory is bounded by their number. Values are read and written only as deep as the stack has
//! room for, also on the smallest stack of a coroutine.

pub(crate) mod bounded;
pub(crate) mod checksum;
mod compact;
pub(crate) mod json;
pub(crate) mod limits;
mod options;
pub(crate) mod reader;
pub(crate) mod storing;
pub(crate) mod varint;
pub(crate) mod writer;

use std::fmt;

use leno_context::user;

pub use json::FrameImage;
pub use options::Options;

use crate::error::{ImageError, RestoreError, panicked};
use crate::persist::Persist;
use crate::scope;
use json::JsonImage;
use limits::Limits;

/// How an image is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Compact, checked, for machines.
    Postcard,
    /// By name, for people and for migrations.
    Json,
}

/// A stored coroutine.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    format: Format,
    bytes: Vec<u8>,
}

pub(crate) const MAGIC: [u8; 2] = *b"LF";
pub(crate) const VERSION: u8 = 1;
/// Magic, version and checksum.
pub(crate) const HEADER: usize = 7;

impl Image {
    /// An image from bytes that came from anywhere.
    ///
    /// # Errors
    /// If they are not an image, or a damaged one; if they are JSON that is nested more than 128 levels deep, or deeper
    /// than the stack has room for. Whether an image fits this build is found out when it is restored.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, ImageError> {
        let bytes = bytes.into();
        if bytes.first().is_some_and(|first| *first == b'{' || first.is_ascii_whitespace()) {
            JsonImage::parse(&bytes)?;
            return Ok(Image { format: Format::Json, bytes });
        }
        reader::check(&bytes)?;
        Ok(Image { format: Format::Postcard, bytes })
    }

    pub(crate) fn trusted(format: Format, bytes: Vec<u8>) -> Self {
        Image { format, bytes }
    }

    /// How it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The bytes to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes to keep.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Its frames by name, the outermost first, to look at or to edit.
    ///
    /// # Errors
    /// If it is not JSON: see [`crate::Resumable::transcode`].
    pub fn frames(&self) -> Result<Vec<FrameImage>, ImageError> {
        match self.format {
            Format::Json => Ok(JsonImage::parse(&self.bytes)?.frames),
            Format::Postcard => Err(ImageError::NoNames),
        }
    }

    /// The value the coroutine was suspended with, if it was stored by
    /// [`crate::Resumable::snapshot_with`]. Externals in it are bound by the options.
    ///
    /// # Errors
    /// If it cannot be read as a `Y`.
    pub fn yielded<Y: Persist>(&self, options: &Options) -> Result<Option<Y>, RestoreError> {
        let (scope, bytes) = (scope::read(&options.bindings), self.bytes.len());
        let limits = match self.format {
            Format::Json => Limits::reading_json(bytes, Some(options), scope.id()),
            Format::Postcard => Limits::reading(bytes, Some(options), scope.id()),
        };
        let wrong = |cause: String| RestoreError::Yielded(limits.take_complaint().unwrap_or(cause));
        match self.format {
            Format::Json => {
                let Some(value) = JsonImage::parse(&self.bytes)?.yielded else { return Ok(None) };
                let read = caught(|| bounded::read_json(value, &limits)).map_err(wrong)?;
                read.map(Some).map_err(|error| wrong(error.to_string()))
            }
            Format::Postcard => {
                let Some((shape, bytes)) = reader::yielded(&self.bytes)? else { return Ok(None) };
                if shape != crate::shape::at::<Y>(0).map_err(wrong)? {
                    let now = crate::shape::describe::<Y>();
                    return Err(wrong(format!("it is of another type than {now}")));
                }
                match caught(|| bounded::read::<Y>(bytes, &limits)).map_err(wrong)? {
                    Ok((value, [])) => Ok(Some(value)),
                    Ok(_) => Err(wrong("bytes are left over".into())),
                    Err(error) => Err(wrong(error.to_string())),
                }
            }
        }
    }

    /// A JSON image of these frames, perhaps edited ones.
    ///
    /// # Panics
    /// If their values are nested deeper than the stack has room for.
    pub fn from_frames(frames: Vec<FrameImage>) -> Self {
        Image { format: Format::Json, bytes: JsonImage::new(frames).to_bytes() }
    }

    /// How many frames it has.
    pub fn depth(&self) -> usize {
        match self.format {
            Format::Json => JsonImage::depth(&self.bytes),
            Format::Postcard => {
                let mut at = HEADER;
                varint::get(&self.bytes, &mut at).unwrap_or(0)
            }
        }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Image");
        shown.field("format", &self.format);
        match self.format {
            Format::Json => shown.field("text", &String::from_utf8_lossy(&self.bytes)).finish(),
            Format::Postcard => {
                shown.field("frames", &self.depth()).field("bytes", &self.bytes.len()).finish()
            }
        }
    }
}

/// Runs a user's `Deserialize`: one that panics is an error, whatever bytes it was given.
fn caught<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    user::call(read).map_err(|panic| panicked("Deserialize", panic))
}
