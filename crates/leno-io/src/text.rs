//! Bytes that are to be text.

use std::io;

/// Appends bytes to a text; how many they were. If they are no text, nothing is appended.
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) if they are no text.
pub(crate) fn append(all: &mut String, bytes: Vec<u8>) -> io::Result<usize> {
    let text = String::from_utf8(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    all.push_str(&text);
    Ok(text.len())
}
