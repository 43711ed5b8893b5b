//! Mistakes that a checker must find, so that one that finds nothing is not believed.

/// Whether this mistake is planted: `LENO_PLANTED` names it, in builds for loom and with
/// `--cfg leno_planted`. In all others there are none, and the question costs nothing.
#[inline(always)]
pub fn is_planted(_bug: &str) -> bool {
    #[cfg(any(loom, leno_planted))]
    {
        static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        PLANTED.get_or_init(|| std::env::var("LENO_PLANTED").ok()).as_deref() == Some(_bug)
    }
    #[cfg(not(any(loom, leno_planted)))]
    false
}
