//! The book hangs together: every chapter is listed and tested, and every link leads somewhere.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The targets of all links of a page, without code and without those to elsewhere.
fn links(page: &str) -> Vec<String> {
    let prose = page.split("```").step_by(2).collect::<String>();
    let ends = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    ends.filter(|link| !link.contains("://")).map(str::to_owned).collect()
}

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn every_chapter_is_listed_and_tested() {
    let folder = root().join("book/src");
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<String> = links(&summary).into_iter().collect();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
    files.remove("SUMMARY.md");
    assert_eq!(listed, files);
    let library = fs::read_to_string(root().join("crates/leno/src/lib.rs")).unwrap();
    for file in files {
        assert!(library.contains(&format!("book/src/{file}\"")), "{file} is not tested");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn links_lead_somewhere() {
    let mut pages = vec![root().join("README.md"), root().join("docs/compare.md")];
    let book = fs::read_dir(root().join("book/src")).unwrap();
    pages.extend(book.map(|entry| entry.unwrap().path()));
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let file = link.split('#').next().unwrap_or_default();
            let target = page.parent().unwrap().join(file);
            assert!(file.is_empty() || target.exists(), "{page:?} links to {link}");
        }
    }
}
