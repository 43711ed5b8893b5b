//! Versions of what is measured, read at compile time from the lock file the build used.

const LOCK: &str = include_str!("../Cargo.lock");

/// The version of a contender that is a crate or part of the standard library. A contender's words
/// name its crates: `leno shared` is leno's, `tokio kanal` both.
pub fn of(contender: &str) -> String {
    let version = |word| match word {
        "thread" => rustc().split(' ').nth(1).map(|v| format!("std {v}")),
        _ => locked(word).map(str::to_owned),
    };
    contender.split(' ').filter_map(version).collect::<Vec<_>>().join(", ")
}

/// What `rustc --version` said when this program was built.
pub fn rustc() -> &'static str {
    env!("LENO_BENCH_RUSTC")
}

fn locked(package: &str) -> Option<&'static str> {
    let (_, rest) = LOCK.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::{locked, of};

    #[test]
    fn peers_are_found_in_the_lock_file() {
        for peer in ["corosensei", "generator", "may", "tokio"] {
            assert!(locked(peer).is_some_and(|v| v.contains('.')), "{peer}");
        }
        assert_eq!(locked("no such crate"), None);
    }

    #[test]
    fn a_contender_is_looked_up_by_its_words() {
        assert_eq!(of("corosensei x"), of("corosensei"));
        assert_eq!(of("tokio kanal"), format!("{}, {}", of("tokio"), of("kanal")));
        assert!(of("thread").starts_with("std 1."));
        assert_eq!(of("dyn call"), "");
    }
}
