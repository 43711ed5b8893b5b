//! Bytes into frames, one after the other, as bodies ask for them.

use std::collections::HashMap;
use std::sync::Arc;

use super::bounded::NESTING;
use super::checksum::checksum;
use super::json::JsonImage;
use super::stored::{Locals, StoredFrame};
use super::{Format, FrameImage, HEADER, Image, MAGIC, Options, VERSION, varint};
use crate::describe::{Function, id_of};
use crate::error::{ImageError, RestoreError};

/// Checks a compact image from its first byte to its last.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ImageError> {
    match bytes {
        [a, b, ..] if [*a, *b] != MAGIC => return Err(ImageError::NotAnImage),
        [_, _, version, ..] if *version != VERSION => return Err(ImageError::Version(*version)),
        [] => return Err(ImageError::NotAnImage),
        _ if bytes.len() < HEADER => return Err(ImageError::Truncated),
        _ => {}
    }
    let mut at = 3;
    let sum = varint::get_u32(bytes, &mut at)?;
    let frames = varint::get(bytes, &mut at).and_then(|frames| {
        for _ in 0..frames {
            varint::skip(bytes, &mut at, 12)?;
            let locals = varint::get(bytes, &mut at)?;
            skip_locals(bytes, &mut at, locals)?;
        }
        if at < bytes.len() {
            // Whether that is a value cut short or something else, only the checksum could say.
            varint::skip(bytes, &mut at, 4).map_err(|_| ImageError::Corrupt)?;
            skip_locals(bytes, &mut at, 1).map_err(|_| ImageError::Corrupt)?;
        }
        Ok(())
    });
    if checksum(&bytes[HEADER..]) == sum {
        // A good checksum and a wrong structure: nobody here wrote it.
        frames.and(if at == bytes.len() { Ok(()) } else { Err(ImageError::Corrupt) })
    } else {
        Err(if frames == Err(ImageError::Truncated) {
            ImageError::Truncated
        } else {
            ImageError::Corrupt
        })
    }
}

/// The value behind the frames of a compact image: the hash of its type, and its bytes.
pub(super) fn yielded(bytes: &[u8]) -> Result<Option<(u32, &[u8])>, ImageError> {
    let mut at = HEADER;
    for _ in 0..varint::get(bytes, &mut at)? {
        varint::skip(bytes, &mut at, 12)?;
        let locals = varint::get(bytes, &mut at)?;
        skip_locals(bytes, &mut at, locals)?;
    }
    if at == bytes.len() {
        return Ok(None);
    }
    let shape = varint::get_u32(bytes, &mut at)?;
    let length = varint::get(bytes, &mut at)?;
    let begin = at;
    varint::skip(bytes, &mut at, length)?;
    Ok(Some((shape, &bytes[begin..at])))
}

fn skip_locals(bytes: &[u8], at: &mut usize, count: usize) -> Result<(), ImageError> {
    for _ in 0..count {
        let length = varint::get(bytes, at)?;
        varint::skip(bytes, at, length)?;
    }
    Ok(())
}

pub(crate) struct Reader {
    source: Source,
    depth: usize,
}

enum Source {
    Compact { bytes: Arc<[u8]>, at: usize, left: usize, nesting: usize, renames: HashMap<u32, u32> },
    Json(std::vec::IntoIter<FrameImage>),
}

impl Reader {
    pub(crate) fn new(image: &Image, options: &Options) -> Result<Self, ImageError> {
        let source = match image.format {
            Format::Postcard => {
                let mut at = HEADER;
                let left = varint::get(&image.bytes, &mut at)?;
                let renames = options.renames.iter();
                let renames = renames.map(|(old, new)| (id_of(old), id_of(new))).collect();
                let nesting = options.nesting.unwrap_or(NESTING);
                Source::Compact { bytes: Arc::from(&image.bytes[..]), at, left, nesting, renames }
            }
            Format::Json => {
                let mut frames = JsonImage::parse(&image.bytes)?.frames;
                for frame in &mut frames {
                    if let Some(new) = options.renames.get(&frame.function) {
                        frame.function.clone_from(new);
                    }
                    if let Some(migrate) = &options.migrate {
                        migrate(frame);
                    }
                }
                Source::Json(frames.into_iter())
            }
        };
        Ok(Reader { source, depth: 0 })
    }

    /// The next frame, if it is one of this function.
    pub(crate) fn next(
        &mut self,
        function: &'static Function,
    ) -> Result<Box<StoredFrame>, RestoreError> {
        let depth = self.depth;
        let (point, locals) = match &mut self.source {
            Source::Compact { bytes, at, left, nesting, renames } => {
                *left = left.checked_sub(1).ok_or(RestoreError::NoFrame)?;
                let id = varint::get_u32(bytes, at)?;
                let id = renames.get(&id).copied().unwrap_or(id);
                if id != function.id {
                    return Err(other_function(depth, function, format!("#{id:08x}")));
                }
                let label = varint::get_u32(bytes, at)?;
                let place = function.places.iter().position(|place| place.id == label);
                let point =
                    place.ok_or_else(|| no_such_point(depth, function, format!("#{label:08x}")))?;
                let shape = varint::get_u32(bytes, at)?;
                let count = varint::get(bytes, at)?;
                let start = *at;
                skip_locals(bytes, at, count)?;
                let place = &function.places[point];
                if count != place.locals.len() {
                    return Err(RestoreError::OtherShape {
                        depth,
                        function: function.name,
                        point: place.label,
                        now: format!("{}, where the image has {count} values", place.names()),
                    });
                }
                (point, Locals::compact(bytes.clone(), start, *nesting, shape))
            }
            Source::Json(frames) => {
                let frame = frames.next().ok_or(RestoreError::NoFrame)?;
                if frame.function != function.name {
                    return Err(other_function(depth, function, frame.function));
                }
                let place = function.places.iter().position(|place| place.label == frame.point);
                let point = place.ok_or_else(|| no_such_point(depth, function, frame.point))?;
                (point, Locals::Json(frame.locals))
            }
        };
        self.depth += 1;
        Ok(Box::new(StoredFrame::new(function, point as u32 + 1, depth, locals)))
    }

    /// Whether all frames were read.
    pub(crate) fn finish(self) -> Result<(), RestoreError> {
        match self.source {
            Source::Compact { left: 0, .. } => Ok(()),
            Source::Compact { left, .. } => Err(RestoreError::FramesLeft(left)),
            Source::Json(frames) if frames.len() == 0 => Ok(()),
            Source::Json(frames) => Err(RestoreError::FramesLeft(frames.len())),
        }
    }
}

fn other_function(depth: usize, function: &'static Function, found: String) -> RestoreError {
    RestoreError::OtherFunction { depth, expected: function.name, found }
}

fn no_such_point(depth: usize, function: &'static Function, found: String) -> RestoreError {
    RestoreError::NoSuchPoint { depth, function: function.name, found, known: function.labels() }
}
