//! Lengths, seven bits to a byte.

use crate::error::ImageError;

pub(crate) fn put(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a length and moves `at` behind it.
pub(crate) fn get(bytes: &[u8], at: &mut usize) -> Result<usize, ImageError> {
    let (mut value, mut shift) = (0usize, 0);
    loop {
        let byte = *bytes.get(*at).ok_or(ImageError::Truncated)?;
        *at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
        shift += 7;
        if shift > 56 {
            return Err(ImageError::Truncated);
        }
    }
}

/// Reads four bytes.
pub(crate) fn get_u32(bytes: &[u8], at: &mut usize) -> Result<u32, ImageError> {
    let end = at.checked_add(4).ok_or(ImageError::Truncated)?;
    let four = bytes.get(*at..end).and_then(|four| four.try_into().ok());
    *at = end;
    four.map(u32::from_le_bytes).ok_or(ImageError::Truncated)
}

/// Moves `at` over so many bytes.
pub(crate) fn skip(bytes: &[u8], at: &mut usize, count: usize) -> Result<(), ImageError> {
    *at = at.checked_add(count).filter(|end| *end <= bytes.len()).ok_or(ImageError::Truncated)?;
    Ok(())
}
