//! Rows for a table in a document: between two marker lines of a file, what was measured replaces the
//! rows of the same benches; rows of others stay. So a part can be measured again by itself.

use std::fs;
use std::io;
use std::path::Path;

use crate::machine::Machine;
use crate::number;
use crate::outcome::{CaseOutcome, Outcome, SUBJECT, Verdict};

const BEGIN: &str = "<!-- rows: begin";
const END: &str = "<!-- rows: end -->";
const HEAD: [&str; 2] = [
    "| bench | leno | beside: figure (leno / it) | targets | measured |",
    "| --- | --- | --- | --- | --- |",
];

/// Rewrites the rows in a file that has the marker lines.
pub fn write(path: &Path, machine: &Machine, outcomes: &[Outcome]) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    let written = rewritten(&text, &rows(machine, outcomes)).ok_or_else(|| {
        io::Error::other(format!("it has no lines that begin with {BEGIN} and {END}"))
    })?;
    fs::write(path, written)
}

/// `None` when the markers are missing.
fn rewritten(text: &str, rows: &[String]) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| line.starts_with(BEGIN))?;
    let end = begin + lines[begin..].iter().position(|line| line.starts_with(END))?;
    let old = &lines[begin + 1..end];
    let mut kept: Vec<&str> = old.iter().copied().filter(|line| line.starts_with("| `")).collect();
    for row in rows {
        match kept.iter().position(|old| key(old) == key(row)) {
            Some(place) => kept[place] = row,
            None => kept.push(row),
        }
    }
    let all = lines[..=begin].iter().chain(&HEAD).chain(&kept).chain(&lines[end..]);
    Some(all.flat_map(|line| [line, "\n"]).collect())
}

/// The first cell: bench and case.
fn key(row: &str) -> &str {
    row.split('|').nth(1).unwrap_or_default()
}

fn rows(machine: &Machine, outcomes: &[Outcome]) -> Vec<String> {
    let date = machine.date.split('T').next().unwrap_or_default();
    let mut rows = Vec::new();
    for outcome in outcomes {
        // Targets speak about all cases: they stand in the first row.
        let mut targets = targets(&(outcome.bench.judge)(outcome));
        for case in &outcome.cases {
            let size = case.parameter.map(|p| format!(" {}", number::grouped(p)));
            let name = format!("`{}`{}", outcome.bench.name, size.unwrap_or_default());
            let own = case.median(SUBJECT).map(number::measured).unwrap_or_default();
            let targets = std::mem::take(&mut targets);
            rows.push(format!("| {name} | {own} | {} | {targets} | {date} |", beside(case)));
        }
    }
    rows
}

fn beside(case: &CaseOutcome) -> String {
    let others = case.entries.iter().filter(|entry| entry.name != SUBJECT);
    let figure = |entry: &crate::outcome::Entry| {
        let Some(median) = entry.median() else { return format!("{} stops", entry.name) };
        let ratio = case.ratio(SUBJECT, entry.name).map(number::ratio);
        let ratio = ratio.map(|ratio| format!(" ({ratio})")).unwrap_or_default();
        format!("{} {}{ratio}", entry.name, number::measured(median))
    };
    others.map(figure).collect::<Vec<_>>().join(", ")
}

fn targets(verdicts: &[Verdict]) -> String {
    let judged = verdicts.iter().filter(|v| v.met.is_some()).count();
    let missed: Vec<&str> =
        verdicts.iter().filter(|v| v.met == Some(false)).map(|v| v.text.as_str()).collect();
    match (judged, missed.len()) {
        (0, _) => "".into(),
        (_, 0) => "met".into(),
        _ => format!("open: {}", missed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{END, HEAD, rewritten};

    #[test]
    fn rows_replace_those_of_the_same_bench_and_leave_the_others() {
        let rows = ["| `a` 2 | 5 |".to_owned(), "| `c` | 7 |".to_owned()];
        let text =
            format!("x\n<!-- rows: begin; how -->\n| `a` 2 | 1 |\n| `a` 3 | 2 |\n{END}\ny\n");
        let [head, line] = HEAD;
        let table = format!("{head}\n{line}\n| `a` 2 | 5 |\n| `a` 3 | 2 |\n| `c` | 7 |\n");
        let expected = format!("x\n<!-- rows: begin; how -->\n{table}{END}\ny\n");
        assert_eq!(rewritten(&text, &rows), Some(expected.clone()));
        assert_eq!(rewritten(&expected, &rows), Some(expected.clone()), "again changes nothing");
        assert_eq!(rewritten("no markers\n", &rows), None);
    }
}
