//! Journals as bytes: `L J`, version, checksum (4 bytes), name, hash of types (4), what it begins with
//! (1: arguments, 2: an image), that, digest of the first answer (4), number of inputs, and for each: its
//! bytes, and the digest of the answer (4). Bytes have their length before them; lengths and numbers without
//! a size are varints.
//!
//! As images, journals are untrusted: [`Journal::from_bytes`] checks them from the first byte to the last, and
//! what is allocated is bounded by their length.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::JournalError;
use crate::error::ImageError;
use crate::image::bounded::read;
use crate::image::checksum::checksum;
use crate::image::limits::Limits;
use crate::image::{HEADER, Image, VERSION, varint};
use crate::resumable::State;
use crate::scope::NO_TABLES;
use crate::shape;

const MAGIC: [u8; 2] = *b"LJ";

/// The inputs of a body, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Journal {
    name: String,
    types: u32,
    start: Start,
    first: u32,
    count: usize,
    entries: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Start {
    Arguments(Vec<u8>),
    Image(Vec<u8>),
}

impl Journal {
    pub(super) fn new<A, I>(name: &str, arguments: &A) -> Result<Self, JournalError>
    where
        A: Serialize + DeserializeOwned + 'static,
        I: DeserializeOwned + 'static,
    {
        let arguments = postcard::to_stdvec(arguments)
            .map_err(|error| JournalError::Arguments(error.to_string()))?;
        Ok(Journal {
            name: name.to_owned(),
            types: types::<A, I>().map_err(JournalError::Arguments)?,
            start: Start::Arguments(arguments),
            first: 0,
            count: 0,
            entries: Vec::new(),
        })
    }

    /// How many inputs it holds.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nothing was put in since the start or the last checkpoint.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whose journal it is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The image it begins with, if there was a checkpoint.
    ///
    /// # Errors
    /// If those bytes are no image.
    pub fn image(&self) -> Result<Option<Image>, JournalError> {
        match &self.start {
            Start::Arguments(_) => Ok(None),
            Start::Image(bytes) => Ok(Some(Image::from_bytes(&bytes[..])?)),
        }
    }

    /// The bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.entries.len() + 64);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(VERSION);
        bytes.resize(HEADER, 0);
        put(&mut bytes, self.name.as_bytes());
        bytes.extend_from_slice(&self.types.to_le_bytes());
        let (kind, start) = match &self.start {
            Start::Arguments(bytes) => (1, bytes),
            Start::Image(bytes) => (2, bytes),
        };
        bytes.push(kind);
        put(&mut bytes, start);
        bytes.extend_from_slice(&self.first.to_le_bytes());
        varint::put(&mut bytes, self.count);
        bytes.extend_from_slice(&self.entries);
        let sum = checksum(&bytes[HEADER..]);
        bytes[3..HEADER].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// A journal from bytes that came from anywhere.
    ///
    /// # Errors
    /// If they are no journal, or a damaged one. Whether it fits this build is found out by replaying it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JournalError> {
        match bytes {
            [a, b, ..] if [*a, *b] != MAGIC => return Err(ImageError::NotAnImage.into()),
            [_, _, version, ..] if *version != VERSION => {
                return Err(ImageError::Version(*version).into());
            }
            [] => return Err(ImageError::NotAnImage.into()),
            _ if bytes.len() < HEADER => return Err(ImageError::Truncated.into()),
            _ => {}
        }
        let mut at = 3;
        let sum = varint::get_u32(bytes, &mut at)?;
        if checksum(&bytes[HEADER..]) != sum {
            return Err(ImageError::Corrupt.into());
        }
        let corrupt = || JournalError::from(ImageError::Corrupt);
        let name = String::from_utf8(get(bytes, &mut at)?.to_vec()).map_err(|_| corrupt())?;
        let types = varint::get_u32(bytes, &mut at)?;
        let kind = bytes.get(at).copied();
        at += 1;
        let start = get(bytes, &mut at)?.to_vec();
        let start = match kind {
            Some(1) => Start::Arguments(start),
            Some(2) => Start::Image(start),
            _ => return Err(corrupt()),
        };
        let first = varint::get_u32(bytes, &mut at)?;
        let count = varint::get(bytes, &mut at)?;
        let entries = bytes[at..].to_vec();
        let journal = Journal { name, types, start, first, count, entries };
        let mut end = 0;
        for _ in 0..count {
            next(&journal.entries, &mut end)?;
        }
        if end == journal.entries.len() { Ok(journal) } else { Err(corrupt()) }
    }

    pub(super) fn is_of(&self, name: &str) -> Result<(), JournalError> {
        if self.name == name {
            return Ok(());
        }
        let (expected, found) = (name.to_owned(), self.name.clone());
        Err(JournalError::OtherBody { expected, found })
    }

    /// Whether it was written of these types; after a checkpoint there are no arguments.
    pub(super) fn takes<A, I>(&self) -> Result<(), JournalError>
    where
        A: DeserializeOwned + 'static,
        I: DeserializeOwned + 'static,
    {
        if self.types != types::<A, I>().map_err(JournalError::Arguments)? {
            let (arguments, inputs) = (shape::describe::<A>(), shape::describe::<I>());
            let now = format!("arguments {arguments}, inputs {inputs}");
            return Err(JournalError::OtherTypes { now });
        }
        Ok(())
    }

    pub(super) fn arguments<A, I>(&self) -> Result<A, JournalError>
    where
        A: DeserializeOwned + 'static,
        I: DeserializeOwned + 'static,
    {
        let Start::Arguments(bytes) = &self.start else { return Err(JournalError::HasImage) };
        self.takes::<A, I>()?;
        value(bytes).map_err(JournalError::Arguments)
    }

    /// What the body has answered when it was started.
    pub(super) fn answered<Y: Serialize, T: Serialize>(&mut self, state: &State<Y, T>) {
        self.first = digest(state);
    }

    /// Whether the body starts now as it did.
    pub(super) fn compare_start<Y: Serialize, T: Serialize>(
        &self,
        state: &State<Y, T>,
    ) -> Result<(), JournalError> {
        same(self.first, 0, state)
    }

    /// An input, and what the body has answered to it.
    pub(super) fn went_on<Y: Serialize, T: Serialize>(
        &mut self,
        input: &[u8],
        state: &State<Y, T>,
    ) {
        // First what may panic.
        let answer = digest(state);
        put(&mut self.entries, input);
        self.entries.extend_from_slice(&answer.to_le_bytes());
        self.count += 1;
    }

    pub(super) fn begin_with(&mut self, types: u32, image: Image) {
        self.types = types;
        self.start = Start::Image(image.into_bytes());
        (self.first, self.count) = (0, 0);
        self.entries.clear();
    }

    /// Its inputs, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Result<Entry<'_>, JournalError>> {
        let mut at = 0;
        (0..self.count).map(move |_| next(&self.entries, &mut at))
    }
}

/// An input as bytes, and the digest of the answer to it.
pub(super) struct Entry<'a> {
    input: &'a [u8],
    answer: u32,
}

impl Entry<'_> {
    pub(super) fn input<I: DeserializeOwned>(&self, step: usize) -> Result<I, JournalError> {
        value(self.input).map_err(|cause| JournalError::Input { step, cause })
    }

    /// Whether the body answers now as it did.
    pub(super) fn compare<Y: Serialize, T: Serialize>(
        &self,
        step: usize,
        state: &State<Y, T>,
    ) -> Result<(), JournalError> {
        same(self.answer, step, state)
    }
}

fn same<Y: Serialize, T: Serialize>(
    before: u32,
    step: usize,
    state: &State<Y, T>,
) -> Result<(), JournalError> {
    if digest(state) == before { Ok(()) } else { Err(JournalError::Drift { step }) }
}

fn next<'a>(entries: &'a [u8], at: &mut usize) -> Result<Entry<'a>, JournalError> {
    let input = get(entries, at)?;
    Ok(Entry { input, answer: varint::get_u32(entries, at)? })
}

fn put(bytes: &mut Vec<u8>, piece: &[u8]) {
    varint::put(bytes, piece.len());
    bytes.extend_from_slice(piece);
}

fn get<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], JournalError> {
    let length = varint::get(bytes, at)?;
    let begin = *at;
    varint::skip(bytes, at, length)?;
    Ok(&bytes[begin..*at])
}

fn value<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let limits = Limits::reading(bytes.len(), None, NO_TABLES);
    match read::<T>(bytes, &limits) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err("bytes are left over".into()),
        Err(error) => Err(limits.take_complaint().unwrap_or_else(|| error.to_string())),
    }
}

/// A hash of the types of what goes in.
///
/// # Errors
/// If they cannot be looked at here.
pub(super) fn types<A, I>() -> Result<u32, String>
where
    A: DeserializeOwned + 'static,
    I: DeserializeOwned + 'static,
{
    Ok(shape::at::<A>(0)?.wrapping_add(shape::at::<I>(1)?))
}

/// A digest of an answer; 0 if serde cannot write it, so that it is not compared.
fn digest<Y: Serialize, T: Serialize>(state: &State<Y, T>) -> u32 {
    let bytes = match state {
        State::Suspended(value) => postcard::to_stdvec(&(0u8, value)),
        State::Complete(value) => postcard::to_stdvec(&(1u8, value)),
    };
    bytes.map_or(0, |bytes| checksum(&bytes).max(1))
}
