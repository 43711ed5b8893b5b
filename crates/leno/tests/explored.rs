//! Holds the table in `docs/testing.md` of what is not explored, and the tree, together.
//!
//! Code that asks whether it runs in an exploration may do something else there. A function of `leno_kernel::layer::world`
//! that does not say so is a point, and does not count. The test fails when code asks and no row says what it does
//! then; when a row names a file or a question that is gone; and when a test that it names does not exist.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where the table is, and under which heading.
const PAGE: &str = "docs/testing.md";
const HEADING: &str = "## What is not explored";

/// Functions of a world after which code goes on alike, in an exploration and outside.
const POINTS: [&str; 7] = [
    "point",
    "plain_point",
    "wait_point",
    "ring_point",
    "is_observed",
    "count_log",
    "count_preemptive",
];

/// What plays the threads, what explores, and a crate with a module of that name.
const OWN: [&str; 4] = [
    "crates/leno-kernel/src/layer/world/",
    "crates/leno-kernel/src/raw/world.rs",
    "crates/leno-explore/",
    "crates/leno-hostile/",
];

/// Every source file of the crates, and the page: its path from the root, and its text.
type Tree = BTreeMap<String, String>;

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn what_is_not_explored_is_in_the_table() {
    let problems = check(&tree());
    assert!(problems.is_empty(), "{} problem(s):\n{}", problems.len(), problems.join("\n"));
}

fn tree() -> Tree {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut tree = Tree::new();
    load(root, "crates", &mut tree);
    let page = fs::read_to_string(root.join(PAGE)).expect("the page can be read");
    tree.insert(PAGE.to_owned(), page);
    tree
}

fn load(root: &Path, path: &str, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(path)).expect("a folder of the project can be read") {
        let entry = entry.expect("a folder of the project can be read");
        let inner = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            load(root, &inner, tree);
        } else if inner.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).unwrap_or_else(|e| panic!("{inner}: {e}"));
            tree.insert(inner, text);
        }
    }
}

/// Every disagreement between table and tree, one line each.
fn check(tree: &Tree) -> Vec<String> {
    let rows = rows(&tree[PAGE]);
    let mut problems = Vec::new();
    if rows.is_empty() {
        problems.push(format!("{PAGE} has no table under '{HEADING}': restore it"));
    }
    let asked = questions(tree);
    let listed = |(file, asks): &(String, String)| {
        rows.iter().any(|row| row.files.contains(file) && row.asks.contains(asks))
    };
    problems.extend(asked.iter().filter(|asked| !listed(asked)).map(|(file, asks)| {
        format!(
            "{file} asks `{asks}`, and no row says what it does then: make it a point, or add one"
        )
    }));
    let functions: BTreeSet<&str> = tree.values().flat_map(|text| declared(text)).collect();
    for row in &rows {
        let gone = row.files.iter().filter(|file| !tree.contains_key(*file));
        problems.extend(gone.map(|file| format!("there is no {file}: correct its row")));
        let is_asked = |file: &String, asks: &String| asked.contains(&(file.clone(), asks.clone()));
        if !row.asks.is_empty() {
            let idle = row.files.iter().filter(|file| !row.asks.iter().any(|a| is_asked(file, a)));
            problems
                .extend(idle.map(|file| format!("{file} asks none of {:?} any more", row.asks)));
        }
        let idle = row.asks.iter().filter(|asks| !row.files.iter().any(|f| is_asked(f, asks)));
        problems.extend(idle.map(|asks| format!("none of {:?} asks `{asks}` any more", row.files)));
        if row.tests.is_empty() {
            problems.push(format!("{:?} has no test: name one", row.files));
        }
        let gone = row.tests.iter().filter(|test| !functions.contains(test.as_str()));
        problems.extend(gone.map(|test| format!("there is no test `{test}`: correct its row")));
    }
    problems
}

/// A row of the table.
struct Row {
    files: Vec<String>,
    asks: Vec<String>,
    tests: Vec<String>,
}

/// The rows of the table, without its head.
fn rows(page: &str) -> Vec<Row> {
    let Some((_, section)) = page.split_once(HEADING) else { return Vec::new() };
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        let cell = |n: usize| cells.get(n).copied().unwrap_or_default();
        let files = quoted(cell(1)).map(|path| match path.split_once('/') {
            Some((name, path)) => format!("crates/{name}/src/{path}"),
            None => path.to_owned(),
        });
        Row {
            files: files.collect(),
            asks: quoted(cell(2)).map(str::to_owned).collect(),
            tests: quoted(cell(5)).map(str::to_owned).collect(),
        }
    })
    .collect()
}

/// What is between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Which files ask what.
fn questions(tree: &Tree) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let is_source = |path: &str| {
        path.contains("/src/")
            && !OWN.iter().any(|own| path.starts_with(own))
            && !path.ends_with("tests.rs")
            && !path.contains("/tests/")
    };
    for (path, text) in tree.iter().filter(|(path, _)| is_source(path)) {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for rest in line.split("world::").skip(1) {
                let is_name = |c: char| c == '_' || c.is_ascii_lowercase();
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let name = &rest[..end];
                if !name.is_empty() && !POINTS.contains(&name) {
                    found.insert((path.clone(), name.to_owned()));
                }
            }
            // Imported by name it would not be found.
            if line.contains("world::{") && !line.contains("world::{self,") {
                found.insert((path.clone(), "an import by name".to_owned()));
            }
        }
    }
    found
}

/// The functions that a text declares.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start();
        let rest = rest.strip_prefix("pub ").unwrap_or(rest).strip_prefix("fn ")?;
        rest.split(['(', '<']).next()
    })
}

/// A tree in which the table is right.
fn small() -> Tree {
    let page = format!(
        "{HEADING}\n| path | asks | then | why | test |\n| - | - | - | - | - |\n\
         | `leno-x/a.rs` | `is_here` | x | y | `it_works` |\n## Next\n"
    );
    let files = [
        (PAGE, page.as_str()),
        ("crates/leno-x/src/a.rs", "if world::is_here() { world::point(); }\n"),
        ("crates/leno-x/src/b.rs", "// world::is_here\nworld::wait_point();\n"),
        ("crates/leno-x/tests/t.rs", "fn it_works() {\n"),
    ];
    files.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
}

#[test]
fn a_table_that_is_right_has_no_problems() {
    assert!(check(&small()).is_empty(), "{:?}", check(&small()));
}

#[test]
fn each_planted_mistake_is_found() {
    let plants: [(&str, &str, &str, &str); 5] = [
        ("crates/leno-x/src/b.rs", "world::wait_point", "world::is_here", "b.rs asks `is_here`"),
        ("crates/leno-x/src/b.rs", "world::wait_point", "world::now", "b.rs asks `now`"),
        ("crates/leno-x/src/a.rs", "is_here", "point", "asks none of"),
        ("crates/leno-x/tests/t.rs", "it_works", "it_worked", "no test `it_works`"),
        (PAGE, HEADING, "## Else", "has no table"),
    ];
    for (file, from, to, problem) in plants {
        let mut tree = small();
        let text = tree.get_mut(file).unwrap();
        *text = text.replace(from, to);
        let problems = check(&tree);
        assert!(problems.iter().any(|found| found.contains(problem)), "{problem}: {problems:?}");
    }
}
