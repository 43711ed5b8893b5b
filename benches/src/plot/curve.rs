//! A line per contender over the parameter of a bench, both axes logarithmic.

use super::axis::Axis;
use super::{Anchor, Picture, colour};
use crate::outcome::{Outcome, SUBJECT};

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 514.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 720.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 434.0;

/// `None` when nothing was measured.
pub fn draw(outcome: &Outcome) -> Option<Picture> {
    let names = outcome.names().into_iter();
    let curves: Vec<(&str, Vec<(f64, f64)>)> = names
        .map(|name| (name, outcome.curve(name)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let points = || curves.iter().flat_map(|(_, points)| points);
    let across = Axis::over(points().map(|p| p.0), LEFT, RIGHT)?;
    let up = Axis::over(points().map(|p| p.1), BOTTOM, TOP)?;

    let bench = outcome.bench;
    let mut picture = Picture::new(WIDTH, HEIGHT, bench);
    grid(&mut picture, &across, &up);
    picture.text((LEFT + RIGHT) / 2.0, BOTTOM + 44.0, Anchor::Middle, "ink", bench.parameter);
    picture.add(format_args!(
        r#"<text transform="translate(22 {:.1}) rotate(-90)" text-anchor="middle" class="ink">{}</text>"#,
        (TOP + BOTTOM) / 2.0,
        bench.unit,
    ));
    // The subject is drawn last, on top, and named first.
    for (name, points) in curves.iter().rev() {
        let at: Vec<(f64, f64)> =
            points.iter().map(|p| (across.place(p.0), up.place(p.1))).collect();
        line(&mut picture, name, &at);
    }
    legend(&mut picture, curves.iter().map(|c| c.0));
    Some(picture)
}

fn grid(picture: &mut Picture, across: &Axis, up: &Axis) {
    for (value, label) in across.ticks() {
        let x = across.place(value);
        picture.segment((x, TOP), (x, BOTTOM), "grid");
        if let Some(label) = label {
            picture.text(x, BOTTOM + 20.0, Anchor::Middle, "pale", &label);
        }
    }
    for (value, label) in up.ticks() {
        let y = up.place(value);
        picture.segment((LEFT, y), (RIGHT, y), "grid");
        if let Some(label) = label {
            picture.text(LEFT - 8.0, y + 4.0, Anchor::End, "pale", &label);
        }
    }
    picture.segment((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    picture.segment((LEFT, TOP), (LEFT, BOTTOM), "axis");
}

fn line(picture: &mut Picture, name: &str, at: &[(f64, f64)]) {
    let class = if name == SUBJECT { "line bold" } else { "line" };
    let colour = colour(name);
    let places: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let places = places.join(" ");
    picture.add(format_args!(r#"<polyline class="{class}" stroke="{colour}" points="{places}"/>"#));
    for &(x, y) in at {
        picture.dot(x, y, 3.0, colour);
    }
}

fn legend<'a>(picture: &mut Picture, names: impl Iterator<Item = &'a str>) {
    for (place, name) in names.enumerate() {
        let y = TOP + 12.0 + 22.0 * place as f64;
        let (class, colour) = (if name == SUBJECT { "line bold" } else { "line" }, colour(name));
        let (from, to) = (RIGHT + 24.0, RIGHT + 48.0);
        picture.add(format_args!(
            r#"<line x1="{from}" y1="{y}" x2="{to}" y2="{y}" class="{class}" stroke="{colour}"/>"#
        ));
        picture.text(to + 8.0, y + 4.0, Anchor::Start, "ink", name);
    }
}
