//! What the environment asks of explorers: `LENO_SEED`, `LENO_REPLAY`.

use core::fmt::Display;
use core::str::FromStr;

use leno_kernel::policy::ChoiceLog;

/// The seed with which the default strategy begins.
pub(crate) fn seed() -> Option<u64> {
    asked("LENO_SEED")
}

/// The schedule that is to be run instead of exploring.
pub(crate) fn token() -> Option<ChoiceLog> {
    asked("LENO_REPLAY")
}

/// What a variable says; nothing if it is not set.
fn asked<T: FromStr<Err: Display>>(name: &str) -> Option<T> {
    let text = std::env::var_os(name)?;
    let text = text.to_string_lossy();
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => panic!("{name}={text}: {error}"),
    }
}
