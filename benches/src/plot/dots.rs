//! A row per contender: a dot at the median, a bar from quartile to quartile, a speck for each sample, the
//! figure beside it.

use super::axis::Axis;
use super::{Anchor, Picture, colour};
use crate::number;
use crate::outcome::Outcome;
use crate::stats::Spread;

const WIDTH: f64 = 880.0;
/// Where the axis begins at least; farther right if a label needs more.
const LEFT: f64 = 170.0;
/// About the width of a character of a label.
const CHARACTER: f64 = 7.0;
const RIGHT: f64 = 770.0;
const TOP: f64 = 64.0;
const ROW: f64 = 26.0;

/// `None` when nothing was measured.
pub fn draw(outcome: &Outcome) -> Option<Picture> {
    let rows = rows(outcome);
    let values = rows.iter().flat_map(|row| row.samples.iter().copied());
    let longest = rows.iter().map(|row| row.label.chars().count()).max()?;
    let left = LEFT.max(longest as f64 * CHARACTER + 24.0);
    let axis = Axis::over(values, left, RIGHT)?;
    let bottom = TOP + ROW * rows.len() as f64;
    let bench = outcome.bench;
    let mut picture = Picture::new(WIDTH, bottom + 80.0, bench);
    for (value, label) in axis.ticks() {
        let x = axis.place(value);
        picture.segment((x, TOP), (x, bottom), "grid");
        if let Some(label) = label {
            picture.text(x, bottom + 20.0, Anchor::Middle, "pale", &label);
        }
    }
    picture.segment((left, bottom), (RIGHT, bottom), "axis");
    picture.text((left + RIGHT) / 2.0, bottom + 40.0, Anchor::Middle, "ink", bench.unit);
    for (place, row) in rows.iter().enumerate() {
        row.draw(&mut picture, &axis, TOP + ROW * (place as f64 + 0.5));
    }
    Some(picture)
}

struct Row {
    label: String,
    name: &'static str,
    spread: Spread,
    samples: Vec<f64>,
}

fn rows(outcome: &Outcome) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in &outcome.cases {
        let parameter = case.parameter.map(|p| format!(", {p} {}", outcome.bench.parameter));
        for entry in &case.entries {
            let label = format!("{}{}", entry.name, parameter.as_deref().unwrap_or_default());
            let samples = entry.samples.iter().map(|sample| sample.1).collect();
            let row = |spread| Row { label, name: entry.name, spread, samples };
            rows.extend(entry.spread().map(row));
        }
    }
    rows
}

impl Row {
    fn draw(&self, picture: &mut Picture, axis: &Axis, y: f64) {
        let Row { label, name, spread, samples } = self;
        let colour = colour(name);
        let (from, at, to) =
            (axis.place(spread.lower), axis.place(spread.median), axis.place(spread.upper));
        picture.text(axis.start() - 12.0, y + 4.0, Anchor::End, "ink", label);
        for sample in samples.iter().filter(|sample| **sample > 0.0) {
            let x = axis.place(*sample);
            picture.add(format_args!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="1.6" fill="{colour}" opacity="0.45"/>"#
            ));
        }
        picture.add(format_args!(
            r#"<line x1="{from:.1}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}" class="line" stroke="{colour}"/>"#
        ));
        picture.dot(at, y, 5.0, colour);
        let figure = number::measured(spread.median);
        picture.text(RIGHT + 16.0, y + 4.0, Anchor::Start, "ink", &figure);
    }
}
