//! A log that was read, as a page for a browser: a lane for everyone, one file, nothing fetched.

use std::fmt::Write;

use super::recorded::{Event, Recorded};

const LEFT: f64 = 170.0;
const WIDTH: f64 = 1100.0;
const LANE: f64 = 26.0;
const TOP: f64 = 40.0;

/// The page.
pub(super) fn page(recorded: &Recorded, title: &str) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\n\
         body {{ font: 14px system-ui, sans-serif; margin: 24px; color: #222; background: #fff }}\n\
         svg text {{ font: 12px system-ui, sans-serif; fill: #333 }}\n\
         .run {{ fill: #3b7dd8 }} .mark {{ fill: #d8563b }} .op {{ fill: #777 }}\n\
         .lane {{ stroke: #e4e4e4 }} .wake {{ stroke: #999; fill: none }}\n\
         table {{ border-collapse: collapse; margin-top: 24px }} td {{ padding: 1px 10px 1px 0 }}\n\
         </style></head><body>\n<h1>{title}</h1>\n",
        title = escaped(title)
    );
    let _ = writeln!(
        page,
        "<p>{} events of {}. Blue: it runs. Grey: an operation. Red: it says something. A line goes to whoever \
         is woken, called or spawned. Point at anything to read it.</p>",
        recorded.events.len(),
        recorded.who.len()
    );
    page.push_str(&picture(recorded));
    page.push_str("<table>\n");
    for event in &recorded.events {
        let who = escaped(&recorded.who[event.by]);
        let _ = writeln!(
            page,
            "<tr><td>{} µs</td><td>{who}</td><td>{}</td></tr>",
            event.at,
            escaped(&event.what)
        );
    }
    page.push_str("</table>\n</body></html>\n");
    page
}

fn picture(recorded: &Recorded) -> String {
    let (first, last) = (recorded.events.first(), recorded.events.last());
    let (Some(first), Some(last)) = (first, last) else { return String::new() };
    let span = (last.at.saturating_sub(first.at)).max(1) as f64;
    let x = |at: u64| LEFT + (WIDTH - LEFT - 20.0) * at.saturating_sub(first.at) as f64 / span;
    let y = |lane: usize| TOP + LANE * lane as f64;
    let height = TOP + LANE * recorded.who.len() as f64 + 20.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" role=\"img\" aria-label=\"timeline\">\n\
         <text x=\"{LEFT}\" y=\"18\">{} µs</text><text x=\"{}\" y=\"18\" text-anchor=\"end\">{} µs</text>\n",
        first.at,
        WIDTH - 20.0,
        last.at
    );
    for (lane, who) in recorded.who.iter().enumerate() {
        let at = y(lane);
        let _ = writeln!(
            svg,
            "<line class=\"lane\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at}\" y2=\"{at}\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            at + 4.0,
            escaped(who)
        );
    }
    // Below everything else: who wakes whom.
    for event in &recorded.events {
        if let Some(target) = recorded.target(event) {
            let at = x(event.at);
            let _ = writeln!(
                svg,
                "<line class=\"wake\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{}\"/>",
                y(event.by),
                y(target)
            );
        }
    }
    for (event, until) in turns(recorded) {
        let (from, to) = (x(event.at), x(until));
        let _ = writeln!(
            svg,
            "<rect class=\"run\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"14\">{}</rect>",
            y(event.by) - 7.0,
            (to - from).max(1.0),
            title(recorded, event)
        );
    }
    for event in recorded.events.iter().filter(|event| !is_turn(event)) {
        let class = if event.what.starts_with("says:") { "mark" } else { "op" };
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{}\" r=\"3\">{}</circle>",
            x(event.at),
            y(event.by),
            title(recorded, event)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn is_turn(event: &Event) -> bool {
    event.what == "runs"
}

/// Each turn, and when it ended: with the next event of its own that ends one, or the next turn of anyone.
fn turns(recorded: &Recorded) -> Vec<(&Event, u64)> {
    let ends =
        |event: &Event| ["parks", "yields", "ends"].iter().any(|end| event.what.starts_with(end));
    let mut turns = Vec::new();
    for (at, event) in recorded.events.iter().enumerate().filter(|(_, event)| is_turn(event)) {
        let later = &recorded.events[at + 1..];
        let end = later.iter().find(|next| next.by == event.by && (ends(next) || is_turn(next)));
        let last = recorded.events.last().map_or(event.at, |last| last.at);
        turns.push((event, end.map_or(last, |end| end.at)));
    }
    turns
}

fn title(recorded: &Recorded, event: &Event) -> String {
    let who = escaped(&recorded.who[event.by]);
    format!("<title>{} µs: {who} {}</title>", event.at, escaped(&event.what))
}

/// For the text of a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::trace::recorded::Recorded;

    #[test]
    fn everyone_has_a_lane_and_nothing_is_markup() {
        let text = "0.000001 s 'a<b' runs\n0.000005 s 'a<b' says: \"hello\"\n0.000009 s 'a<b' ends: returned\n";
        let page = page(&Recorded::read(text), "run <1>");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains("'a&lt;b'") && !page.contains("a<b"), "{page}");
        assert!(page.contains("class=\"run\"") && page.contains("class=\"mark\""));
        assert!(!page.contains("http"), "it fetches nothing");
    }

    #[test]
    fn a_log_without_events_is_a_page_too() {
        assert!(page(&Recorded::read("nothing"), "empty").contains("0 events"));
    }
}
