//! Lengths, seven bits to a byte.

use crate::error::ImageError;

pub(crate) fn put(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a length and moves `at` behind it. Most are of one byte.
#[inline]
pub(crate) fn get(bytes: &[u8], at: &mut usize) -> Result<usize, ImageError> {
    match bytes.get(*at) {
        Some(byte) if *byte < 0x80 => {
            *at += 1;
            Ok(usize::from(*byte))
        }
        _ => get_long(bytes, at),
    }
}

#[inline(never)]
fn get_long(bytes: &[u8], at: &mut usize) -> Result<usize, ImageError> {
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

/// Reads three numbers of four bytes.
#[inline]
pub(crate) fn get_three(bytes: &[u8], at: &mut usize) -> Result<[u32; 3], ImageError> {
    let twelve = bytes.get(*at..).and_then(|rest| rest.first_chunk::<12>());
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *twelve.ok_or(ImageError::Truncated)?;
    *at += 12;
    Ok([[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes))
}

/// Reads four bytes.
pub(crate) fn get_u32(bytes: &[u8], at: &mut usize) -> Result<u32, ImageError> {
    let four = bytes.get(*at..).and_then(|rest| rest.first_chunk::<4>());
    let four = *four.ok_or(ImageError::Truncated)?;
    *at += 4;
    Ok(u32::from_le_bytes(four))
}

/// Moves `at` over so many bytes.
#[inline]
pub(crate) fn skip(bytes: &[u8], at: &mut usize, count: usize) -> Result<(), ImageError> {
    *at = at.checked_add(count).filter(|end| *end <= bytes.len()).ok_or(ImageError::Truncated)?;
    Ok(())
}
