//! A checksum against damage, not against people: eight bytes a step, in four lanes that do not wait for one another,
//! the last bytes and the lanes at the end one after the other.
//!
//! Each step is a bijection of the state for given bytes and of the bytes for a given state, so any damage
//! within eight bytes changes the 64 bits it ends with, and other damage does but once in 2^64; the 32
//! bits that are kept are missed once in 2^32.

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let step = |state: u64, word: u64| ((state ^ word).wrapping_mul(FACTOR)).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let (blocks, words) = words.as_chunks::<4>();
    let mut lanes = [0, 1, 2, 3];
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }
    let state = lanes.into_iter().fold(bytes.len() as u64, step);
    let state = words.iter().fold(state, |state, word| step(state, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let state = step(step(state, u64::from_le_bytes(last)), 0);
    (state ^ (state >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn any_damaged_byte_and_any_other_length_is_noticed() {
        let bytes: Vec<u8> = (0..=100).collect();
        let good = checksum(&bytes);
        for i in 0..bytes.len() {
            for damage in 1..=255 {
                let mut bytes = bytes.clone();
                bytes[i] ^= damage;
                assert_ne!(checksum(&bytes), good);
            }
            assert_ne!(checksum(&bytes[..i]), good);
        }
        assert_ne!(checksum(&[0; 7]), checksum(&[0; 8]));
    }
}
