//! Bytes that mean harm, for the readers of images and journals: what the fuzz targets and `untrusted.rs` share.
//!
//! A checksum is against damage, and anybody can compute it: so most bytes tried here have one that is right.

pub(crate) mod image;
pub(crate) mod journal;

/// Magic, version and checksum.
pub(crate) const HEADER: usize = 7;

/// The bytes to try: as they are, with a checksum that is right, or an honest start with patches in it.
pub(crate) fn hostile(data: &[u8], honest: &[u8]) -> Option<Vec<u8>> {
    let (kind, data) = data.split_first()?;
    match kind % 4 {
        0 => Some(data.to_vec()),
        1 => Some(mended(data.to_vec())),
        kind => {
            let mut bytes = honest.to_vec();
            let (patches, tail) = data.split_at(data.len().min(usize::from(kind == 3) * 64 + 12));
            for patch in patches.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % bytes.len();
                bytes[at] = patch[2];
            }
            if kind == 3 {
                let at = bytes.len().saturating_sub(tail.len() / 2);
                bytes.splice(at.., tail.iter().copied());
            }
            Some(mended(bytes))
        }
    }
}

/// The bytes with the checksum that goes with them, so that what lies behind it is reached.
pub(crate) fn mended(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some((header, rest)) = bytes.split_at_mut_checked(HEADER) {
        header[3..].copy_from_slice(&checksum(rest).to_le_bytes());
    }
    bytes
}

/// The checksum of the formats, written down once more: four lanes of eight bytes, then the rest.
fn checksum(bytes: &[u8]) -> u32 {
    let step =
        |state: u64, word: u64| (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let word = |bytes: &[u8]| {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(eight)
    };
    let (blocks, rest) = bytes.split_at(bytes.len() / 32 * 32);
    let mut lanes = [0, 1, 2, 3];
    for (i, bytes) in blocks.chunks(8).enumerate() {
        lanes[i % 4] = step(lanes[i % 4], word(bytes));
    }
    let state = lanes.into_iter().fold(bytes.len() as u64, step);
    let (words, last) = rest.split_at(rest.len() / 8 * 8);
    let state = words.chunks(8).map(word).fold(state, step);
    let state = step(step(state, word(last)), 0);
    (state ^ (state >> 32)) as u32
}
