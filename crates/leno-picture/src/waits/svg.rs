//! Drawing it.

use core::fmt::{self, Write};

use super::{Graph, Looks, Node};
use crate::escape::xml;
use crate::layout::{Layout, Place};

/// The width of a character of 13 and of 11 pixels; the font is monospaced.
const WIDE: f64 = 7.85;
const NARROW: f64 = 6.65;
/// The longest name that is shown whole.
const LONGEST: usize = 26;
/// How high a node is, and how far apart rows and columns are.
const HIGH: f64 = 44.0;
const ROW: f64 = 62.0;
const GAP: f64 = 112.0;
/// How far before a column arrows leave their rows.
const TURN: f64 = 46.0;
const MARGIN: f64 = 24.0;
const HEAD: f64 = 64.0;

const STYLE: &str = include_str!("waits.css");

/// The whole picture.
pub(super) fn draw(graph: &Graph, layout: &Layout) -> String {
    let mut picture =
        Picture { graph, layout, columns: columns(graph, layout), out: String::new() };
    picture.write().expect("a string takes any text");
    picture.out
}

/// Left edge and width of each column.
fn columns(graph: &Graph, layout: &Layout) -> Vec<(f64, f64)> {
    let mut widths: Vec<f64> = Vec::new();
    for (node, place) in graph.nodes.iter().zip(&layout.places) {
        widths.resize(widths.len().max(place.column + 1), 0.0);
        widths[place.column] = widths[place.column].max(width(node));
    }
    let mut left = MARGIN;
    let column = |width: f64| {
        let column = (left, width);
        left += width + GAP;
        column
    };
    widths.into_iter().map(column).collect()
}

/// How many cells of a monospaced font a text takes, roughly.
fn cells(text: &str) -> usize {
    let wide = |c: char| {
        matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3
        | 0xf900..=0xfaff | 0xfe30..=0xfe4f | 0xff00..=0xff60 | 0x1f300..=0x1faff | 0x20000..=0x3fffd)
    };
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

/// The beginning, if it is too long.
fn short(text: &str) -> String {
    if cells(text) <= LONGEST {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if cells(&short) >= LONGEST - 1 {
            break;
        }
    }
    short + "…"
}

fn width(node: &Node) -> f64 {
    let name = cells(&short(&node.name)) as f64 * WIDE;
    let below = cells(&short(&node.below)) as f64 * NARROW;
    (name.max(below) + 34.0).max(96.0).round()
}

struct Picture<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    columns: Vec<(f64, f64)>,
    out: String,
}

impl Picture<'_> {
    fn write(&mut self) -> fmt::Result {
        let right = self.columns.last().map_or(0.0, |(left, width)| left + width);
        let (wide, high) =
            ((right + MARGIN).max(560.0), HEAD + self.layout.rows * ROW + MARGIN + 28.0);
        writeln!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" \
             width=\"{wide}\" height=\"{high}\" role=\"img\" aria-label=\"who waits for what\">\n\
             <style>\n{STYLE}</style>\n\
             <defs>{}{}</defs>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>",
            head("tip"),
            head("tip-circle"),
        )?;
        self.heading()?;
        // Circles last: they lie over the others.
        for in_circle in [false, true] {
            for index in 0..self.graph.nodes.len() {
                if self.layout.circle[index] == in_circle {
                    self.arrow(index)?;
                }
            }
        }
        for (index, node) in self.graph.nodes.iter().enumerate() {
            let (place, in_circle) = (self.layout.places[index], self.layout.circle[index]);
            node_box(&mut self.out, node, in_circle, self.columns[place.column].0, y(place))?;
        }
        self.legend(high - MARGIN)?;
        self.out.push_str("</svg>\n");
        Ok(())
    }

    fn heading(&mut self) -> fmt::Result {
        let alive = self.graph.alive;
        let waiting = self.graph.nodes.iter().filter(|node| node.looks == Looks::Waits).count();
        let circles = self.layout.back.iter().filter(|back| **back).count();
        writeln!(
            self.out,
            "<text class=\"heading\" x=\"{MARGIN}\" y=\"30\">who waits for what</text>\n\
             <text class=\"below\" x=\"{MARGIN}\" y=\"48\">{alive} alive, {waiting} waiting{}</text>",
            match circles {
                0 => String::new(),
                1 => ", <tspan class=\"alarm\">a circle: none of it can ever go on</tspan>"
                    .to_owned(),
                n => format!(
                    ", <tspan class=\"alarm\">{n} circles: none of them can ever go on</tspan>"
                ),
            }
        )
    }

    fn arrow(&mut self, index: usize) -> fmt::Result {
        let node = &self.graph.nodes[index];
        let Some(next) = node.next else { return Ok(()) };
        let (from, to) = (self.layout.places[index], self.layout.places[next]);
        let (left, own) = self.columns[from.column];
        let (target, _) = self.columns[to.column];
        let class = if self.layout.circle[index] { "arrow circle" } else { "arrow" };
        let (start, end) = (left + width(node).min(own), target - 3.0);
        let (y0, y1) = (y(from) + HIGH / 2.0, y(to) + HIGH / 2.0);
        let (path, x, y) = if self.layout.back[index] {
            // Over the top of its row.
            let (x0, x1) =
                (left + width(node) / 2.0, target + width(&self.graph.nodes[next]) / 2.0);
            let (y0, y1) = (y(from), y(to) - 3.0);
            let top = y0 - 24.0;
            let (x0, x1) = if index == next { (x0 + 24.0, x1 - 24.0) } else { (x0, x1) };
            let path = format!(
                "M{x0} {y0}V{}Q{x0} {top} {} {top}H{}Q{x1} {top} {x1} {}V{y1}",
                top + 12.0,
                x0 - 12.0,
                x1 + 12.0,
                top + 12.0
            );
            (path, (x0 + x1) / 2.0, top)
        } else {
            // Straight on as far as its own row is free, then over to the other.
            let turn = (target - TURN).max(start);
            let middle = (turn + end) / 2.0;
            let path = format!("M{start} {y0}H{turn}C{middle} {y0} {middle} {y1} {end} {y1}");
            (path, start + 10.0, y0)
        };
        writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>")?;
        let anchor = if self.layout.back[index] { "middle" } else { "start" };
        let y = y - 5.0;
        writeln!(
            self.out,
            "<text class=\"how\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
            node.how
        )
    }

    fn legend(&mut self, y: f64) -> fmt::Result {
        let mut x = MARGIN;
        for (class, text) in [
            ("runs", "running"),
            ("ready", "ready"),
            ("waits", "waiting"),
            ("thing", "what is waited for"),
            ("waits in-circle", "in a circle"),
        ] {
            let (top, after) = (y - 10.0, x + 20.0);
            writeln!(
                self.out,
                "<g class=\"node {class}\"><rect class=\"shape\" x=\"{x}\" y=\"{top}\" width=\"14\" height=\"12\" rx=\"{}\"/>\
                 <text class=\"below\" x=\"{after}\" y=\"{y}\">{text}</text></g>",
                if class == "thing" { 6 } else { 3 }
            )?;
            x += 34.0 + cells(text) as f64 * NARROW;
        }
        Ok(())
    }
}

fn y(place: Place) -> f64 {
    HEAD + 6.0 + place.row * ROW
}

/// The head of an arrow.
fn head(id: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path class=\"{id}\" d=\"M0 0L8 4L0 8Z\"/></marker>"
    )
}

fn node_box(out: &mut String, node: &Node, in_circle: bool, left: f64, top: f64) -> fmt::Result {
    let class = match node.looks {
        Looks::Runs => "runs",
        Looks::Ready => "ready",
        Looks::Waits => "waits",
        Looks::Thing => "thing",
        Looks::Elsewhere => "elsewhere",
    };
    let circle = if in_circle { " in-circle" } else { "" };
    let radius = if node.looks == Looks::Thing { HIGH / 2.0 } else { 8.0 };
    let (wide, text) = (width(node), left + 17.0);
    let name_y = top + if node.below.is_empty() { 27.0 } else { 19.0 };
    writeln!(
        out,
        "<g class=\"node {class}{circle}\"><title>{}</title>\
         <rect class=\"shape\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{HIGH}\" rx=\"{radius}\"/>\
         <text class=\"name\" x=\"{text}\" y=\"{name_y}\">{}</text>\
         <text class=\"below\" x=\"{text}\" y=\"{}\">{}</text></g>",
        xml(&node.title),
        xml(&short(&node.name)),
        top + 35.0,
        xml(&short(&node.below)),
    )
}
