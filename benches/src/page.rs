//! The report as one page: for each bench a table, a chart and its targets; who could not take part, and why.
//!
//! The page is one file that fetches nothing, so that it can be kept, sent and read years later.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use crate::bench::Scale;
use crate::contender::Failure;
use crate::machine::Machine;
use crate::number;
use crate::outcome::{CaseOutcome, Entry, Outcome, SUBJECT, Verdict};
use crate::plot::{self, escaped};

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 940px; margin: 32px auto; padding: 0 16px }
:root { color-scheme: light dark } nav a { margin-right: 12px; white-space: nowrap }
table { border-collapse: collapse; margin: 12px 0 } th { text-align: left; font-weight: 600 }
td, th { padding: 2px 14px 2px 0; white-space: nowrap } td.pale { white-space: normal } td.n { text-align: right; font-variant-numeric: tabular-nums }
.met { color: #2f9e5b } .missed { color: #d6455d } .pale { opacity: 0.7 } svg { max-width: 100%; height: auto }
tr.subject td { font-weight: 600 } section { margin-top: 40px }
";

pub fn write(path: &Path, machine: &Machine, scale: Scale, outcomes: &[Outcome]) -> io::Result<()> {
    fs::write(path, page(machine, scale, outcomes))
}

fn page(machine: &Machine, scale: Scale, outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>leno beside its peers</title>\n\
         <style>\n{STYLE}</style></head><body>\n<h1>leno beside its peers</h1>\n<p>{}</p>\n",
        escaped(&machine.line())
    );
    if let Some(warning) = machine.warning() {
        let _ = writeln!(text, "<p class=\"missed\">{}</p>", escaped(&warning));
    }
    let rounds = scale.rounds();
    let _ = writeln!(
        text,
        "<p>All took turns in one run, {rounds} rounds. <b>leno/peer</b> is the median of the ratios within each \
         round: below 1 leno needs less. Bars and ranges go from quartile to quartile, specks are single \
         rounds; all axes are logarithmic.</p>"
    );
    text.push_str(&totals(outcomes));
    text.push_str(&missing(outcomes));
    text.push_str("<nav>");
    for outcome in outcomes {
        let name = outcome.bench.name;
        let _ = write!(text, "<a href=\"#{name}\">{name}</a> ");
    }
    text.push_str("</nav>\n");
    outcomes.iter().for_each(|outcome| text.push_str(&section(outcome)));
    text.push_str("</body></html>\n");
    text
}

/// How many targets there were, and which were missed.
fn totals(outcomes: &[Outcome]) -> String {
    let (mut met, mut missed) = (0, Vec::new());
    for outcome in outcomes {
        for verdict in (outcome.bench.judge)(outcome) {
            match verdict.met {
                Some(true) => met += 1,
                Some(false) => missed.push((outcome.bench.name, verdict)),
                None => {}
            }
        }
    }
    let mut text = format!("<p>Targets: <span class=\"met\">{met} met</span>");
    if missed.is_empty() {
        return text + ".</p>\n";
    }
    let _ = write!(text, ", <span class=\"missed\">{} missed</span>:</p>\n<ul>\n", missed.len());
    for (name, Verdict { text: target, measured, .. }) in missed {
        let target = escaped(&target);
        let _ = writeln!(text, "<li><a href=\"#{name}\">{name}</a>: {target}, was {measured}</li>");
    }
    text + "</ul>\n"
}

/// Who was not there, each with why and how often.
fn missing(outcomes: &[Outcome]) -> String {
    let mut why: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let entries = outcomes.iter().flat_map(|outcome| &outcome.cases).flat_map(|case| &case.entries);
    for entry in entries {
        if let Some(Failure::Skipped(reason)) = &entry.failure {
            *why.entry((entry.name, reason.clone())).or_default() += 1;
        }
    }
    if why.is_empty() {
        return "<p>Nobody who was asked for was missing.</p>\n".to_owned();
    }
    let mut text = String::from("<p>Missing:</p>\n<ul>\n");
    for ((name, reason), times) in why {
        let _ = writeln!(text, "<li>{name} ({times} times): {}</li>", escaped(&reason));
    }
    text + "</ul>\n"
}

fn section(outcome: &Outcome) -> String {
    let bench = outcome.bench;
    let mut text = format!(
        "<section id=\"{0}\"><h2>{0}</h2>\n<p>{1}, {2}</p>\n",
        bench.name,
        escaped(bench.about),
        escaped(bench.unit)
    );
    if let Some(chart) = plot::chart(outcome) {
        text.push_str(&chart);
    }
    let parameter = if bench.parameter.is_empty() {
        String::new()
    } else {
        format!("<th>{}</th>", escaped(bench.parameter))
    };
    let _ = writeln!(
        text,
        "<table><tr>{parameter}<th>contender</th><th>version</th><th>median</th><th>spread</th>\
         <th>{SUBJECT}/peer</th><th></th></tr>"
    );
    for case in &outcome.cases {
        for entry in &case.entries {
            text.push_str(&row(case, entry, !bench.parameter.is_empty()));
        }
    }
    text.push_str("</table>\n");
    for Verdict { text: target, measured, met } in (bench.judge)(outcome) {
        let (class, word) = match met {
            Some(true) => ("met", ", met"),
            Some(false) => ("missed", ", missed"),
            None => ("", ""),
        };
        let target = escaped(&target);
        let _ = writeln!(text, "<p class=\"{class}\">{target}: {}{word}</p>", escaped(&measured));
    }
    text + "</section>\n"
}

fn row(case: &CaseOutcome, entry: &Entry, has_parameter: bool) -> String {
    let class = if entry.name == SUBJECT { " class=\"subject\"" } else { "" };
    let mut text = format!("<tr{class}>");
    if has_parameter {
        let parameter = case.parameter.map(number::grouped).unwrap_or_default();
        let _ = write!(text, "<td class=\"n\">{parameter}</td>");
    }
    let _ = write!(text, "<td>{}</td><td>{}</td>", escaped(entry.name), escaped(&entry.version));
    let remark: Vec<String> =
        entry.note.iter().cloned().chain(entry.failure.iter().map(Failure::text)).collect();
    let (median, spread, ratio) = match entry.spread() {
        Some(spread) => (
            number::measured(spread.median),
            format!("{} .. {}", number::measured(spread.lower), number::measured(spread.upper)),
            case.ratio(SUBJECT, entry.name).filter(|_| entry.name != SUBJECT).map(number::ratio),
        ),
        None => (String::new(), String::new(), None),
    };
    let _ = writeln!(
        text,
        "<td class=\"n\">{median}</td><td class=\"n\">{spread}</td><td class=\"n\">{}</td>\
         <td class=\"pale\">{}</td></tr>",
        ratio.unwrap_or_default(),
        escaped(&remark.join("; "))
    );
    text
}

#[cfg(test)]
mod tests;
