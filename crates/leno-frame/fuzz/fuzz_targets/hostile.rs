//! Bytes that get past the checksum: it is against damage, and anybody can compute it.

/// The bytes to try: as they are, with a checksum that is right, or an honest start with patches in it.
pub fn hostile(data: &[u8], honest: &[u8]) -> Option<Vec<u8>> {
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

fn mended(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some((header, rest)) = bytes.split_at_mut_checked(7) {
        header[3..].copy_from_slice(&checksum(rest).to_le_bytes());
    }
    bytes
}

/// The checksum of the format, written down once more.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |state: u64, word: &[u8]| {
        let mut eight = [0; 8];
        eight[..word.len()].copy_from_slice(word);
        (state ^ u64::from_le_bytes(eight)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    let whole = bytes.len() / 8 * 8;
    let state = bytes[..whole].chunks(8).fold(bytes.len() as u64, step);
    let state = step(step(state, &bytes[whole..]), &[]);
    (state ^ (state >> 32)) as u32
}
