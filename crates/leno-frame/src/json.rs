//! JSON of any values, read and written only as deep as the stack has room for.
//!
//! `serde_json` limits what it reads to 128 levels and what it writes not at all. That is too deep for the stack of a
//! coroutine, which may be as small as some pages. These functions look how much stack is left at every level, and return
//! an error where it does not suffice. Use them for JSON that comes from outside, and for values that may be deep.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Result, Value};

use crate::image::json;
use crate::image::limits::Limits;
use crate::image::storing::Storing;
use crate::scope::NO_TABLES;

/// Reads a value.
///
/// # Errors
/// If the bytes are not JSON, or not of a `T`; if they are nested deeper than 128 levels, or than the stack has room for;
/// if their items take more memory than so many bytes can mean.
///
/// # Examples
/// ```
/// let numbers: Vec<u32> = leno_frame::json::from_slice(b"[1, 2]")?;
/// assert_eq!(numbers, [1, 2]);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    json::read(bytes, &Limits::reading_json(bytes.len(), None, NO_TABLES))
}

/// Writes a value as text.
///
/// # Errors
/// If the value cannot be written as JSON, or is nested deeper than the stack has room for.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    json::write(&mut bytes, value, &Limits::writing(NO_TABLES))?;
    Ok(bytes)
}

/// Writes a value as a [`Value`].
///
/// # Errors
/// As [`to_vec`].
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    value.serialize(Storing(serde_json::value::Serializer, &Limits::writing(NO_TABLES)))
}
