//! Holds `docs/conformance.md` and the tree together.
//!
//! The table promises a proof for every requirement; this test makes the promise checkable. It
//! fails when a row is missing or doubled, when a proof is named twice or does not exist, and when a
//! test carries an id that no row has or that its row does not list. All problems are reported at
//! once, each with what to do.
//!
//! Every check is a function of texts held in a [`Tree`], so that it can be tried on planted
//! mistakes without touching files. Whether a proof proves anything is not checked here: that is
//! for its reader to judge.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where the table is, from the root of the project.
const TABLE: &str = "docs/conformance.md";

/// The letters `kind` may hold; the head of the table says what they mean.
const KINDS: [&str; 7] = ["T", "M", "X", "C", "B", "L", "D"];

/// The folders whose sources may hold a proof.
const PROVING: &[&str] = &["crates/", "examples/", "benches/"];

/// Each letter of an id, its highest number, and the columns of its rows after the id.
const SERIES: [(&str, u32, Columns); 8] = [
    ("F", 99, &["text", "kind", "proof", "state"]),
    ("S", 85, &["text", "kind", "proof", "state"]),
    ("K", 65, &["text", "kind", "proof", "state"]),
    ("M", 59, &["text", "kind", "proof", "state"]),
    ("P", 69, &["text", "kind", "proof", "state"]),
    ("E", 29, &["text", "proof"]),
    ("C", 20, &["text", "proof"]),
    ("N", 23, &["text", "proof", "state"]),
];

/// What the cells of a row after its id are, in order.
type Columns = &'static [&'static str];

/// Every `.rs` and `.md` file of the project: its path from the root, and its text.
type Tree = BTreeMap<String, String>;

/// Something in the tree that says by its name which id it proves, as a proof cell would write it.
struct Claim<'t> {
    id: String,
    proof: &'t str,
    file: &'t str,
}

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn table_and_tree_agree() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut tree = Tree::new();
    load(root, "", &mut tree);
    let problems = check(&tree);
    assert!(problems.is_empty(), "{} problem(s):\n{}", problems.len(), problems.join("\n"));
}

/// Reads the folder `path` into `tree`, leaving out hidden folders and build output.
fn load(root: &Path, path: &str, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(path)).expect("a folder of the project can be read") {
        let entry = entry.expect("a folder of the project can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let inner = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        if entry.path().is_dir() {
            if !name.starts_with('.') && name != "target" && !name.starts_with("target-") {
                load(root, &inner, tree);
            }
        } else if inner.ends_with(".rs") || inner.ends_with(".md") {
            let text = fs::read_to_string(entry.path()).unwrap_or_else(|e| panic!("{inner}: {e}"));
            tree.insert(inner, text);
        }
    }
}

/// Every disagreement between table and tree, one line each.
fn check(tree: &Tree) -> Vec<String> {
    let Some(table) = tree.get(TABLE) else {
        return vec![format!("{TABLE} is missing: restore it")];
    };
    let known = known_ids();
    let functions: BTreeSet<&str> =
        sources(tree, PROVING).flat_map(|(_, text)| text.lines().filter_map(declared)).collect();
    let mut problems = Vec::new();
    let mut listed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cells in table.lines().filter_map(cells) {
        let id = cells[0];
        let Some(columns) = known.get(id) else {
            problems.push(format!("{id}: no such id: remove the row or correct it"));
            continue;
        };
        let proofs = check_row(&cells, columns, &mut problems);
        let wrong = proofs.iter().filter_map(|proof| check_proof(proof, tree, &functions));
        problems.extend(wrong.map(|what| format!("{id}: {what}")));
        let again = proofs.iter().enumerate().filter(|(i, proof)| proofs[..*i].contains(proof));
        problems.extend(again.map(|(_, proof)| format!("{id}: names `{proof}` twice: keep one")));
        if listed.insert(id, proofs).is_some() {
            problems.push(format!("{id}: has two rows: keep one"));
        }
    }
    let missing = known.keys().filter(|id| !listed.contains_key(id.as_str()));
    problems.extend(missing.map(|id| format!("{id}: has no row: add one to {TABLE}")));
    problems.extend(claims(tree).iter().filter_map(|claim| check_claim(claim, &known, &listed)));
    problems
}

/// All ids the table must have, each with the columns of its row.
fn known_ids() -> BTreeMap<String, Columns> {
    let series =
        |(letter, last, columns)| (1..=last).map(move |n| (format!("{letter}{n}"), columns));
    SERIES.into_iter().flat_map(series).collect()
}

/// The cells of a table's row; nothing for prose, a table's head and the rule below it.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
    let heading = cells[0] == "id" || cells[0].starts_with("--");
    (!heading).then_some(cells)
}

/// Checks the form of one row and gives the proofs it names.
fn check_row<'t>(cells: &[&'t str], columns: Columns, problems: &mut Vec<String>) -> Vec<&'t str> {
    let (id, cells) = (cells[0], &cells[1..]);
    let mut problem = |what: String| problems.push(format!("{id}: {what}"));
    if cells.len() != columns.len() {
        let (wanted, found) = (columns.len() + 1, cells.len() + 1);
        problem(format!("has {found} cells where its table has {wanted}: correct the row"));
        return Vec::new();
    }
    let mut proofs = Vec::new();
    for (&column, cell) in columns.iter().zip(cells) {
        match column {
            "text" if cell.is_empty() => problem("says nothing: fill its text in".into()),
            "kind" if !cell.split(", ").all(|k| KINDS.contains(&k)) => {
                problem(format!("kind `{cell}` is not a list of {}", KINDS.join(", ")));
            }
            "proof" => match parse_proofs(cell) {
                Ok(found) => proofs = found,
                Err(rest) => {
                    problem(format!("proof `{rest}` is of no form the head of {TABLE} has"))
                }
            },
            "state" if *cell == "done" && proofs.is_empty() => {
                problem("is done without a proof: name one or reopen the row".into());
            }
            "state" if !matches!(*cell, "done" | "open") && !cell.starts_with("partly: ") => {
                problem(format!(
                    "state `{cell}` is not `done`, `partly: what is missing` or `open`"
                ));
            }
            _ => {}
        }
    }
    proofs
}

/// The names in backticks and the targets of links in a proof cell, or the part that is neither.
fn parse_proofs(cell: &str) -> Result<Vec<&str>, &str> {
    if cell == "-" {
        return Ok(Vec::new());
    }
    let (mut proofs, mut rest) = (Vec::new(), cell);
    loop {
        let (proof, after) = parse_proof(rest).ok_or(rest)?;
        proofs.push(proof);
        if after.is_empty() {
            return Ok(proofs);
        }
        rest = after.strip_prefix(", ").ok_or(after)?;
    }
}

/// The first proof of `text`, and what follows it.
fn parse_proof(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(link) => link.split_once("](")?.1.split_once(')'),
        None => text.strip_prefix('`')?.split_once('`'),
    }
}

/// What is wrong with a proof, if the tree does not hold what it names.
fn check_proof(proof: &str, tree: &Tree, functions: &BTreeSet<&str>) -> Option<String> {
    let (holds, what) = if let Some(name) = proof.strip_prefix("bench:") {
        let literal = format!("\"{name}\"");
        let holds = sources(tree, &["benches/src/"]).any(|(_, text)| text.contains(&literal));
        (holds, format!("no bench {literal} in benches/src"))
    } else if proof.ends_with(".rs") {
        let holds = tree.contains_key(proof) && proof.contains("/compile_fail/");
        (holds, format!("no file `{proof}`, from the root, below a compile_fail folder"))
    } else if proof.contains(".md") {
        (heading_exists(proof, tree).unwrap_or(false), format!("no file and heading `{proof}`"))
    } else {
        let holds = id_of(proof).is_some() && functions.contains(proof);
        (holds, format!("no function `{proof}` that starts with an id in {PROVING:?}"))
    };
    (!holds).then(|| what + ": add it or correct the proof")
}

/// Whether a link's file, named relative to the table, has the heading the link names.
fn heading_exists(link: &str, tree: &Tree) -> Option<bool> {
    let (file, anchor) = link.split_once('#')?;
    let mut path: Vec<&str> = TABLE.split('/').collect();
    path.pop();
    for part in file.split('/') {
        match part {
            ".." => drop(path.pop()?),
            name => path.push(name),
        }
    }
    Some(anchors(tree.get(&path.join("/"))?).contains(anchor))
}

/// The anchors GitHub gives to the headings of a Markdown text.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    let mut in_code = false;
    for line in markdown.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if in_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let slug: String = title.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let earlier = times.entry(slug.clone()).or_default();
        anchors.insert(if *earlier == 0 { slug } else { format!("{slug}-{earlier}") });
        *earlier += 1;
    }
    anchors
}

/// The Rust sources below some folders.
fn sources<'t>(tree: &'t Tree, below: &'t [&str]) -> impl Iterator<Item = (&'t str, &'t str)> {
    tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).filter(|(path, _)| {
        path.ends_with(".rs") && below.iter().any(|folder| path.starts_with(folder))
    })
}

/// The name of the function declared on a line. Lines are enough for formatted sources, and keep
/// quoted code, such as in the tests below, from counting.
fn declared(line: &str) -> Option<&str> {
    let (word, rest) = line.trim_start().split_once(' ')?;
    match word {
        "fn" => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next(),
        "pub" | "pub(crate)" | "pub(super)" | "async" | "const" | "unsafe" => declared(rest),
        _ => None,
    }
}

/// The id a name starts with, as `F19` for `f19_refused`. Ids of numbers (N) are not in names.
fn id_of(name: &str) -> Option<String> {
    let (id, _) = name.split_once('_')?;
    let digits = id.strip_prefix(|c| "fskmpeci".contains(c))?;
    let numbered = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    numbered.then(|| id.to_ascii_uppercase())
}

/// Every test function and compile-fail file whose name starts with an id.
fn claims(tree: &Tree) -> Vec<Claim<'_>> {
    let mut claims = Vec::new();
    for (file, text) in sources(tree, PROVING) {
        let mut claim = |name: &str, proof| {
            claims.extend(id_of(name).map(|id| Claim { id, proof, file }));
        };
        if let (true, Some((_, name))) = (file.contains("/compile_fail/"), file.rsplit_once('/')) {
            claim(name, file);
        }
        // Other attributes and comments may stand between the attribute and its function.
        let mut is_test = false;
        for line in text.lines() {
            is_test |= line.trim() == "#[test]";
            let Some(name) = declared(line) else { continue };
            if std::mem::take(&mut is_test) {
                claim(name, name);
            }
        }
    }
    claims
}

/// Whether the id claimed exists and its row lists the claim; if not, what to do.
fn check_claim(
    Claim { id, proof, file }: &Claim,
    known: &BTreeMap<String, Columns>,
    listed: &BTreeMap<&str, Vec<&str>>,
) -> Option<String> {
    // i01 to i10 are the cases of layers working together, which have no rows.
    if (1..=10).any(|n| *id == format!("I{n:02}")) {
        return None;
    }
    if !known.contains_key(id) {
        return Some(format!("{file}: `{proof}` carries the unknown id {id}: rename it"));
    }
    let row = listed.get(id.as_str())?;
    let must_be_listed = id.starts_with(['F', 'S', 'K', 'M', 'P']);
    (must_be_listed && !row.contains(proof))
        .then(|| format!("{file}: `{proof}` is not in the row of {id}: add it to {TABLE}"))
}

/// A correct table in a tree of its own, with `plants` (id, old text, new text) put into its rows.
fn planted(plants: &[(&str, &str, &str)], source: &str) -> Tree {
    let row = |(id, columns): (&String, &Columns)| {
        let mut row = match columns.len() {
            2 => format!("| {id} | text | - |"),
            3 => format!("| {id} | text | - | open |"),
            _ => format!("| {id} | text | T, X | - | open |"),
        };
        for (_, old, new) in plants.iter().filter(|plant| plant.0 == id) {
            row = row.replace(old, new);
        }
        row + "\n"
    };
    let table = known_ids().iter().map(row).collect();
    let file = |path: &str, text: String| (path.to_owned(), text);
    let design = "# Title\n## Why, `so`?\n```\n# code\n```\n## Why so\n".to_owned();
    Tree::from([
        file(TABLE, table),
        file("DESIGN.md", design),
        file("crates/a/src/lib.rs", source.to_owned()),
        file("crates/a/tests/compile_fail/f32_resume.rs", String::new()),
        file("benches/src/main.rs", "run(\"hop\");".to_owned()),
    ])
}

/// The row that every planted tree needs for its compile-fail file.
const F32: (&str, &str, &str) = ("F32", "-", "`crates/a/tests/compile_fail/f32_resume.rs`");

#[test]
fn correct_table_has_no_problem() {
    let proof = "`f1_x`, `bench:hop`, [why](../DESIGN.md#why-so), [again](../DESIGN.md#why-so-1)";
    let plants = [F32, ("F1", "- | open", &format!("{proof} | done")), ("N1", "-", "`bench:hop`")];
    let source = "#[test]\n#[ignore]\nfn f1_x() {}\n#[test]\nfn i10_y() {}\nfn s99_helper() {}";
    assert_eq!(check(&planted(&plants, source)), Vec::<String>::new());
}

#[test]
fn each_planted_mistake_is_found() {
    let mistakes = [
        ("F1", "| F1 |", "| F100 |", "F100: no such id"),
        ("F1", "| F1 |", "| F2 |", "F2: has two rows"),
        ("F1", "| F1 |", "| F2 |", "F1: has no row"),
        ("S3", "text", "", "S3: says nothing"),
        ("S3", "text", "one | two", "S3: has 6 cells"),
        ("S3", "T, X", "T, Y", "S3: kind `T, Y`"),
        ("S3", "open", "partly:", "S3: state `partly:`"),
        ("S3", "open", "done", "S3: is done without a proof"),
        ("K1", "- |", "k1_bare |", "K1: proof `k1_bare` is of no form"),
        ("K1", "- |", "`k1_gone` |", "K1: no function `k1_gone`"),
        ("K1", "- |", "`k1_x`, `k1_x` |", "K1: names `k1_x` twice"),
        ("K1", "- |", "`helper` |", "K1: no function `helper`"),
        ("E1", "- |", "`crates/a/compile_fail/e1_gone.rs` |", "E1: no file `crates/a/comp"),
        ("N1", "- |", "`bench:gone` |", "N1: no bench \"gone\""),
        ("C1", "- |", "[x](../GONE.md#x) |", "C1: no file and heading"),
        ("C1", "- |", "[x](../DESIGN.md#code) |", "C1: no file and heading"),
    ];
    for (id, old, new, expected) in mistakes {
        let problems = check(&planted(&[F32, (id, old, new)], "fn helper() {}"));
        assert!(problems.iter().any(|p| p.starts_with(expected)), "{expected}: {problems:?}");
    }
}

#[test]
fn unknown_and_unlisted_ids_in_the_tree_are_found() {
    let source = "#[test]\nfn s99_x() {}\n#[test]\n/// why\nfn s9_x() {}\n#[test]\nfn i11_x() {}";
    let problems = check(&planted(&[], source)).join("\n");
    for expected in ["unknown id S99", "not in the row of S9:", "unknown id I11", "row of F32"] {
        assert!(problems.contains(expected), "{expected}: {problems}");
    }
}
