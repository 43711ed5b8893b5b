//! Times in stores: milliseconds since 1970.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Later than everything.
pub(crate) const FAR: i64 = i64::MAX;

/// Longer than anybody waits: a hundred years.
const LONG: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

pub(crate) fn now() -> i64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// As [`now`] was when this process asked first, and as much later as time has passed since: it is never set back.
pub(crate) fn steady() -> i64 {
    static BEGUN: OnceLock<(i64, Instant)> = OnceLock::new();
    let (begun, since) = BEGUN.get_or_init(|| (now(), Instant::now()));
    begun.saturating_add(millis(since.elapsed()))
}

/// Rounded up, so that nobody is too early; a hundred years at most.
pub(crate) fn millis(time: Duration) -> i64 {
    let time = time.min(LONG);
    time.as_millis() as i64 + i64::from(!time.subsec_nanos().is_multiple_of(1_000_000))
}

pub(crate) fn shown(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.max(0).unsigned_abs())
}
