//! Whatever waits has a twin for futures. The sources say what waits, under "Blocking" in its documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What starts a process waits for nobody: its documentation says for what the core is kept.
const NONE: [&str; 1] = ["spawn"];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

/// The public functions of a source, and whether they say that they wait.
fn functions(source: &str) -> Vec<(String, bool)> {
    let (mut found, mut waits) = (Vec::new(), false);
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            waits |= text.trim().starts_with("# Blocking") || text.contains("Parks the calling");
        } else if !line.starts_with("#[") {
            let rest = line.strip_prefix("pub ").unwrap_or_default();
            let rest = rest.strip_prefix("async ").unwrap_or(rest);
            if let Some(rest) = rest.strip_prefix("fn ") {
                let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                found.push((name.take(1).collect(), waits));
            }
            waits = false;
        }
    }
    found
}

#[test]
fn whatever_waits_has_a_twin_for_futures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    // By folder: those for futures may be in a file of their own.
    let mut folders: BTreeMap<PathBuf, Vec<(String, bool)>> = BTreeMap::new();
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let folder = file.parent().unwrap().to_owned();
        folders.entry(folder).or_default().extend(functions(&source));
    }
    let mut count = 0;
    for (folder, functions) in folders {
        let names: BTreeSet<&str> = functions.iter().map(|(name, _)| &**name).collect();
        for (name, _) in functions.iter().filter(|(name, waits)| *waits && !NONE.contains(&&**name))
        {
            // What has a limit of its own is the same operation; futures have `timeout_async`.
            let operation = name.strip_suffix("_timeout").unwrap_or(name);
            let twin = format!("{operation}_async");
            assert!(names.contains(&*twin), "{name} waits, and there is no {twin} in {folder:?}");
            count += 1;
        }
    }
    assert!(count > 40, "only {count} were found that wait: do the sources still say so?");
}
