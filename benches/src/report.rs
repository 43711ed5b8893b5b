//! The report on standard output: a table per bench, then its targets.

use std::env;
use std::io::{self, IsTerminal};

use crate::bench::Bench;
use crate::number;
use crate::outcome::{CaseOutcome, Entry, Outcome, SUBJECT, Verdict};
use crate::output::tell;
use crate::stats::Spread;

/// Writes text for a terminal, with colours only when it is one.
pub struct Report {
    colours: bool,
}

#[derive(Clone, Copy)]
enum Style {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
}

impl Report {
    pub fn new() -> Self {
        Self { colours: io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none() }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.colours { format!("\x1b[{}m{text}\x1b[0m", style as u8) } else { text.to_owned() }
    }

    pub fn list(&self, benches: &[Bench]) {
        for bench in benches {
            tell!("{} {} [{}]", pad(bench.name, 18), bench.about, bench.unit);
        }
    }

    pub fn bench(&self, outcome: &Outcome) {
        let Bench { name, unit, about, .. } = outcome.bench;
        tell!("\n{}  {about}, {unit}", self.styled(Style::Bold, name));
        if outcome.cases.is_empty() {
            tell!("  nobody to measure");
            return;
        }
        let mut table = Table::new(outcome);
        for case in &outcome.cases {
            for entry in &case.entries {
                table.add(outcome, case, entry);
            }
        }
        self.print(&table);
        for verdict in (outcome.bench.judge)(outcome) {
            tell!("  {}", self.verdict(&verdict));
        }
    }

    fn print(&self, table: &Table) {
        let widths = table.widths();
        tell!("  {}", self.styled(Style::Dim, &table.line(&table.head, &widths)));
        for row in &table.rows {
            match row {
                Row::Figures(cells) => tell!("  {}", table.line(cells, &widths)),
                Row::NoFigure { before, why } => {
                    let line = table.line(before, &widths);
                    tell!("  {line}  {}", self.styled(Style::Dim, why));
                }
            }
        }
    }

    fn verdict(&self, Verdict { text, measured, met }: &Verdict) -> String {
        match met {
            None => format!("{text}: {measured}"),
            Some(true) => {
                format!("target {text}: {measured}, {}", self.styled(Style::Green, "met"))
            }
            Some(false) => {
                format!("target {text}: {measured}, {}", self.styled(Style::Red, "missed"))
            }
        }
    }
}

/// The table of one bench; its first column is there only when cases have a parameter.
struct Table {
    head: Vec<String>,
    rows: Vec<Row>,
}

enum Row {
    Figures(Vec<String>),
    /// The cells up to the version, then why there is nothing else.
    NoFigure {
        before: Vec<String>,
        why: String,
    },
}

impl Table {
    fn new(outcome: &Outcome) -> Self {
        let peer = format!("{SUBJECT}/peer");
        let head = ["contender", "version", "median", "spread", &peer, ""].map(str::to_owned);
        let parameter = Some(outcome.bench.parameter).filter(|p| !p.is_empty()).map(str::to_owned);
        Self { head: parameter.into_iter().chain(head).collect(), rows: Vec::new() }
    }

    fn add(&mut self, outcome: &Outcome, case: &CaseOutcome, entry: &Entry) {
        let mut cells: Vec<String> = Vec::new();
        if !outcome.bench.parameter.is_empty() {
            let first = case.entries.first().is_some_and(|e| e.name == entry.name);
            let parameter = case.parameter.filter(|_| first);
            cells.push(parameter.map(number::grouped).unwrap_or_default());
        }
        cells.extend([entry.name.to_owned(), entry.version.clone()]);
        let Some(spread) = entry.spread() else {
            let why = entry.failure.as_ref().map_or("no sample".to_owned(), |f| f.text());
            self.rows.push(Row::NoFigure { before: cells, why });
            return;
        };
        let ratio = (entry.name != SUBJECT).then(|| case.ratio(SUBJECT, entry.name)).flatten();
        cells.extend([
            number::measured(spread.median),
            if entry.samples.len() > 1 { quartiles(&spread) } else { String::new() },
            ratio.map(number::ratio).unwrap_or_default(),
            remark(entry),
        ]);
        self.rows.push(Row::Figures(cells));
    }

    fn widths(&self) -> Vec<usize> {
        let cells = self.rows.iter().map(|row| match row {
            Row::Figures(cells) => cells,
            Row::NoFigure { before, .. } => before,
        });
        let mut widths: Vec<usize> = self.head.iter().map(|c| c.chars().count()).collect();
        for cells in cells {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.chars().count().max(*width);
            }
        }
        widths
    }

    /// Names to the left, figures to the right.
    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let figures_from = self.head.len() - 4;
        let last = self.head.len() - 1;
        let padded = cells.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
            let left = (figures_from - 2..figures_from).contains(&column) || column == last;
            if left { pad(cell, width) } else { format!("{cell:>width$}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

fn quartiles(spread: &Spread) -> String {
    format!("{} .. {}", number::measured(spread.lower), number::measured(spread.upper))
}

/// What a reader must know of an entry that has figures.
fn remark(entry: &Entry) -> String {
    let note = entry.note.iter().cloned();
    let failed = entry.failure.iter().map(|f| format!("then {}", f.text()));
    note.chain(failed).collect::<Vec<_>>().join("; ")
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}
