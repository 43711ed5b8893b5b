//! Names of sessions.

use std::fmt;
use std::str::FromStr;

use crate::error::SessionError;

/// The name of a session: 16 bytes, written as 32 hexadecimal digits.
///
/// A [`SessionId::random`] one cannot be guessed, so whoever knows it may be taken for whoever was told it:
/// it may stand in the address of a page. A [`SessionId::named`] one can be guessed by anybody who knows the
/// name; it makes starting a session idempotent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId([u8; 16]);

impl SessionId {
    /// A new id from the system's own source of randomness.
    ///
    /// # Panics
    /// If the system has no such source.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has a source of randomness");
        SessionId(bytes)
    }

    /// The id that this name stands for, always the same: the FNV-1a hash of 128 bits.
    pub fn named(name: &str) -> Self {
        SessionId(fnv(name.as_bytes()).to_be_bytes())
    }

    /// An id from its bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        SessionId(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

pub(crate) fn fnv(bytes: &[u8]) -> u128 {
    let (mut hash, prime) = (0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, (1 << 88) + 0x13b);
    for byte in bytes {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(prime);
    }
    hash
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SessionId {
    type Err = SessionError;

    fn from_str(text: &str) -> Result<Self, SessionError> {
        let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes = is_id.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        bytes
            .map(|bytes| SessionId(bytes.to_be_bytes()))
            .ok_or_else(|| SessionError::NotAnId(text.chars().take(64).collect()))
    }
}

impl serde::Serialize for SessionId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SessionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionId, fnv};

    #[test]
    fn an_id_is_its_text() {
        let id = SessionId::random();
        assert_eq!(id.to_string().parse::<SessionId>().unwrap(), id);
        assert_ne!(id, SessionId::random());
        for wrong in
            ["", "12", "+0000000000000000000000000000001", "zz000000000000000000000000000001"]
        {
            assert!(wrong.parse::<SessionId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
