//! A graph of nodes and channels as a picture: who sends to whom.
//!
//! Nodes stand in columns, each right of all that send to it, but for arrows that close a circle; within
//! a column in the order in which they were given. Output depends on the graph alone.

use core::fmt::Write;

use crate::escape::xml;

/// A graph to be drawn.
///
/// # Examples
/// ```
/// use leno_picture::flow::{Edge, Flow, Node, Shade, draw};
///
/// let node = |name: &str| {
///     let (id, name) = (name.to_owned(), name.to_owned());
///     Node { id, name, below: "hot".to_owned(), shade: Shade::Hot }
/// };
/// let edges = vec![Edge { from: 0, to: 1, label: "numbers".to_owned() }];
/// let picture = draw(&Flow { nodes: vec![node("count"), node("sum")], edges });
/// assert!(picture.starts_with("<svg") && picture.contains("numbers"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its channels.
    pub edges: Vec<Edge>,
}

/// A node to be drawn.
#[derive(Clone, Debug)]
pub struct Node {
    /// Unique in the graph.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// A second line.
    pub below: String,
    /// What it looks like.
    pub shade: Shade,
}

/// What a node looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shade {
    /// It has not run.
    Cold,
    /// It has.
    Hot,
    /// It has ended.
    Ended,
    /// Not one of the graph's.
    Outside,
}

/// A channel to be drawn.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Who sends.
    pub from: usize,
    /// Who receives.
    pub to: usize,
    /// What stands beside it.
    pub label: String,
}

const WIDE: usize = 150;
const HIGH: usize = 44;
const GAP: usize = 190;
const ROW: usize = 78;
const MARGIN: usize = 24;

/// Draws it, as an SVG that any browser shows.
pub fn draw(flow: &Flow) -> String {
    let columns = columns(flow);
    let mut rows = vec![0; flow.nodes.len()];
    let mut heights = vec![0; columns.iter().max().map_or(0, |most| most + 1)];
    for (row, column) in rows.iter_mut().zip(&columns) {
        *row = heights[*column];
        heights[*column] += 1;
    }
    let place =
        |node: usize| (MARGIN + columns[node] * (WIDE + GAP), MARGIN + HIGH + rows[node] * ROW);
    let width = 2 * MARGIN + heights.len().max(1) * (WIDE + GAP) - GAP;
    let height = 2 * MARGIN + HIGH + heights.iter().max().copied().unwrap_or(1) * ROW;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"12\"><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" \
         refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n"
    );
    let mut beside = vec![0; flow.nodes.len()];
    for edge in &flow.edges {
        let ((x1, y1), (x2, y2)) = (place(edge.from), place(edge.to));
        let (x1, y1, y2) = (x1 + WIDE, y1 + HIGH / 2, y2 + HIGH / 2);
        // Several labels at one node stand below each other.
        let label = y1 + 14 * beside[edge.from] - 6;
        beside[edge.from] += 1;
        let bend = if x2 > x1 { GAP / 2 } else { GAP };
        let _ = writeln!(
            text,
            "<path d=\"M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#555\" \
             marker-end=\"url(#tip)\"/><text x=\"{}\" y=\"{label}\" font-size=\"10\">{}</text>",
            x1 + bend,
            x2.saturating_sub(bend),
            x1 + 6,
            xml(&edge.label)
        );
    }
    for (index, node) in flow.nodes.iter().enumerate() {
        let (x, y) = place(index);
        let (fill, dash) = match node.shade {
            Shade::Cold => ("#e8eef7", ""),
            Shade::Hot => ("#fde8d0", ""),
            Shade::Ended => ("#e6e6e6", ""),
            Shade::Outside => ("#fff", " stroke-dasharray=\"4 3\""),
        };
        let _ = writeln!(
            text,
            "<g><rect x=\"{x}\" y=\"{y}\" width=\"{WIDE}\" height=\"{HIGH}\" rx=\"5\" fill=\"{fill}\" \
             stroke=\"#333\"{dash}/><text x=\"{}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" \
             font-size=\"10\" fill=\"#555\">{}</text></g>",
            x + 8,
            y + 18,
            xml(&node.name),
            x + 8,
            y + 34,
            xml(&node.below)
        );
    }
    text + "</svg>\n"
}

/// In which column each stands: one right of the last that sends to it.
fn columns(flow: &Flow) -> Vec<usize> {
    let count = flow.nodes.len();
    let mut columns = vec![0; count];
    let mut back = vec![false; flow.edges.len()];
    mark_back(flow, &mut back);
    // No path without arrows back is longer than there are nodes.
    for _ in 0..count {
        for (edge, _) in flow.edges.iter().zip(&back).filter(|(_, is_back)| !**is_back) {
            columns[edge.to] = columns[edge.to].max(columns[edge.from] + 1);
        }
    }
    columns
}

/// Which arrows close a circle: those to a node that is on the way to their own.
fn mark_back(flow: &Flow, back: &mut [bool]) {
    // 0: not seen, 1: on the way, 2: done.
    let mut seen = vec![0; flow.nodes.len()];
    for first in 0..flow.nodes.len() {
        let mut stack = vec![(first, 0)];
        while let Some((node, at)) = stack.pop() {
            if at == 0 {
                if seen[node] != 0 {
                    continue;
                }
                seen[node] = 1;
            }
            let next = (at..flow.edges.len()).find(|edge| flow.edges[*edge].from == node);
            match next {
                None => seen[node] = 2,
                Some(edge) => {
                    let to = flow.edges[edge].to;
                    stack.push((node, edge + 1));
                    match seen[to] {
                        0 => stack.push((to, 0)),
                        1 => back[edge] = true,
                        _ => {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(count: usize, edges: &[(usize, usize)]) -> Flow {
        let node = |index: usize| {
            let name = format!("node <{index}>");
            Node { id: name.clone(), name, below: String::new(), shade: Shade::Hot }
        };
        let edge = |(from, to): &(usize, usize)| Edge { from: *from, to: *to, label: "a&b".into() };
        Flow { nodes: (0..count).map(node).collect(), edges: edges.iter().map(edge).collect() }
    }

    #[test]
    fn whoever_receives_stands_right_of_whoever_sends() {
        assert_eq!(columns(&flow(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)])), [0, 1, 1, 2]);
    }

    #[test]
    fn a_circle_is_cut() {
        assert_eq!(columns(&flow(3, &[(0, 1), (1, 2), (2, 0), (1, 1)])), [0, 1, 2]);
    }

    #[test]
    fn text_of_users_stays_text() {
        let picture = draw(&flow(2, &[(0, 1), (1, 0)]));
        assert!(picture.contains("node &lt;1&gt;") && picture.contains("a&amp;b"));
        assert!(!picture.contains("node <"));
        assert_eq!(draw(&Flow::default()).matches("<svg").count(), 1);
    }
}
