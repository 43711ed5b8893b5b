//! A row per contender: a dot at the median, a bar from quartile to quartile, the figure beside it.

use super::axis::Axis;
use super::{Anchor, Picture, colour};
use crate::number;
use crate::outcome::Outcome;
use crate::stats::Spread;

const WIDTH: f64 = 880.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 770.0;
const TOP: f64 = 64.0;
const ROW: f64 = 26.0;

/// `None` when nothing was measured.
pub fn draw(outcome: &Outcome) -> Option<Picture> {
    let rows = rows(outcome);
    let values = rows.iter().flat_map(|(_, _, s)| [s.lower, s.upper]);
    let axis = Axis::over(values, LEFT, RIGHT)?;
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
    picture.segment((LEFT, bottom), (RIGHT, bottom), "axis");
    picture.text((LEFT + RIGHT) / 2.0, bottom + 40.0, Anchor::Middle, "ink", bench.unit);
    for (place, (label, name, spread)) in rows.iter().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        row(&mut picture, &axis, y, label, colour(name), spread);
    }
    Some(picture)
}

/// Label, contender and figures of each row.
fn rows(outcome: &Outcome) -> Vec<(String, &'static str, Spread)> {
    let mut rows = Vec::new();
    for case in &outcome.cases {
        let parameter = case.parameter.map(|p| format!(", {p} {}", outcome.bench.parameter));
        for entry in &case.entries {
            let label = format!("{}{}", entry.name, parameter.as_deref().unwrap_or_default());
            rows.extend(entry.spread().map(|spread| (label, entry.name, spread)));
        }
    }
    rows
}

fn row(picture: &mut Picture, axis: &Axis, y: f64, label: &str, colour: &str, spread: &Spread) {
    let (from, at, to) =
        (axis.place(spread.lower), axis.place(spread.median), axis.place(spread.upper));
    picture.text(LEFT - 12.0, y + 4.0, Anchor::End, "ink", label);
    picture.add(format_args!(
        r#"<line x1="{from:.1}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}" class="line" stroke="{colour}"/>"#
    ));
    picture.dot(at, y, 5.0, colour);
    let figure = number::measured(spread.median);
    picture.text(RIGHT + 16.0, y + 4.0, Anchor::Start, "ink", &figure);
}
