//! Charts as SVG, one per bench, readable on light and dark grounds.
//!
//! Everything spans orders of magnitude here (a call against a thread, two coroutines against a
//! million), so every axis is logarithmic. Bars would need a zero, which such an axis has not:
//! single figures are drawn as dots.

mod axis;
mod curve;
mod dots;

use std::fmt::{Display, Write};
use std::fs;
use std::io;
use std::path::Path;

use crate::bench::{Bench, Chart};
use crate::machine::Machine;
use crate::outcome::Outcome;

/// Writes `NAME.svg` for each bench that has a figure.
pub fn write(directory: &Path, machine: &Machine, outcomes: &[Outcome]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for outcome in outcomes {
        let Some(mut picture) = draw(outcome) else { continue };
        picture.caption(machine);
        let file = directory.join(format!("{}.svg", outcome.bench.name));
        fs::write(file, picture.finish())?;
    }
    Ok(())
}

/// The chart of one bench, to be part of a page; `None` when it has no figure.
pub fn chart(outcome: &Outcome) -> Option<String> {
    draw(outcome).map(Picture::finish)
}

fn draw(outcome: &Outcome) -> Option<Picture> {
    match outcome.bench.chart {
        Chart::Curve => curve::draw(outcome),
        Chart::Dots => dots::draw(outcome),
    }
}

const STYLE: &str = "\
.ground { fill: #ffffff } .ink { fill: #1c2024 } .pale { fill: #60666d }
.grid { stroke: #dfe3e8; stroke-width: 1 } .axis { stroke: #60666d; stroke-width: 1 }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round } .bold { stroke-width: 3.2 }
text { font: 13px system-ui, sans-serif } .title { font-size: 16px; font-weight: 600 }
.small { font-size: 11px }
@media (prefers-color-scheme: dark) {
.ground { fill: #15181c } .ink { fill: #e6e9ec } .pale { fill: #9aa2ab }
.grid { stroke: #2c3138 } .axis { stroke: #9aa2ab } }
";

/// Where a text is anchored.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG document being drawn.
struct Picture {
    width: f64,
    height: f64,
    body: String,
}

impl Picture {
    fn new(width: f64, height: f64, bench: &Bench) -> Self {
        let mut picture = Self { width, height, body: String::new() };
        picture.text(16.0, 26.0, Anchor::Start, "ink title", bench.name);
        picture.text(16.0, 45.0, Anchor::Start, "pale", bench.about);
        picture
    }

    /// Appends one line of markup.
    fn add(&mut self, markup: impl Display) {
        let _ = writeln!(self.body, "{markup}"); // Writing to a string cannot fail.
    }

    fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.add(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#
        ));
    }

    fn segment(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    fn dot(&mut self, x: f64, y: f64, radius: f64, colour: &str) {
        self.add(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}"/>"#));
    }

    /// Where the figures come from, at the foot.
    fn caption(&mut self, machine: &Machine) {
        let (x, y) = (16.0, self.height - 10.0);
        self.text(x, y, Anchor::Start, "pale small", &machine.line());
    }

    fn finish(self) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>\n{STYLE}</style>\n\
             <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n"
        )
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A contender has the same colour in every chart; all are told apart on light and dark grounds.
fn colour(contender: &str) -> &'static str {
    match contender {
        "leno" => "#2f7de1",
        name if name.starts_with("leno") => "#7aa7e8",
        "corosensei" => "#e07b1a",
        "generator" => "#2f9e5b",
        "may" => "#9b5fd0",
        "tokio" => "#d6455d",
        "go" => "#14a3b8",
        "luajit" => "#a8793a",
        "boost" => "#c05fa8",
        "java" => "#8c9a1f",
        _ => "#838b94",
    }
}
