//! A log as a page: coroutines from top to bottom, time from left to right.
//!
//! The page is one file without anything from elsewhere: style, script and what happened, the latter
//! as JSON in which every text stands once. Text reaches the page as text only, never as markup. The
//! script is in three parts: what happened (`story.js`), drawing (`draw.js`), input (`hands.js`).

use core::fmt::{self, Write};
use std::collections::HashMap;

use leno_kernel::log::Log;

use crate::Names;
use crate::escape::json;
use crate::story::Story;

const STYLE: &str = include_str!("timeline/page.css");
const BODY: &str = include_str!("timeline/page.html");
const SCRIPT: [&str; 3] = [
    include_str!("timeline/story.js"),
    include_str!("timeline/draw.js"),
    include_str!("timeline/hands.js"),
];

/// What happened, as a page to look at in a browser: one file that needs nothing else.
///
/// Bars show who ran and who waited for what, arrows show wake-ups and values. The x axis is time or,
/// for a virtual clock, the order of events. Everything can be pointed at and picked.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, yield_now};
/// use leno_picture::{Names, timeline};
///
/// let system = LocalSystem::builder().virtual_time().log(1_000).build();
/// drop(system.spawn(|| yield_now()));
/// system.run()?;
/// let page = timeline(&system.log(), &Names::new());
/// assert!(page.starts_with("<!doctype html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timeline(log: &Log, names: &Names) -> String {
    let mut out = String::new();
    write(&Story::new(log, names), &mut out).expect("a string takes any text");
    out
}

fn write(story: &Story, out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>leno timeline</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{BODY}\
         <script type=\"application/json\" id=\"data\">"
    )?;
    data(story, out)?;
    writeln!(out, "</script>\n<script>\n{}</script>\n</body>\n</html>", SCRIPT.concat())
}

/// Every text once.
#[derive(Default)]
struct Texts<'a> {
    numbers: HashMap<&'a str, usize>,
    all: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.all.push(text);
            self.all.len() - 1
        })
    }
}

/// A number, or -1 for none.
fn or_none(number: Option<usize>) -> i64 {
    number.map_or(-1, |number| i64::try_from(number).unwrap_or(-1))
}

/// What happened, as one JSON object; `story.js` reads it.
fn data(story: &Story, out: &mut String) -> fmt::Result {
    let mut texts = Texts::default();
    write!(out, "{{\"lost\":{},\"rows\":[", story.lost)?;
    for (index, row) in story.rows.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let site = or_none(row.site.as_deref().map(|site| texts.number(site)));
        let (name, co, spawned) = (texts.number(&row.name), row.co, or_none(row.spawned));
        write!(out, "{comma}[{name},\"{co}\",{site},{spawned}]")?;
    }
    out.push(']');
    let moments = &story.moments;
    let before = [0].into_iter().chain(moments.iter().map(|moment| moment.at));
    let steps =
        moments.iter().zip(before).map(|(moment, before)| moment.at.wrapping_sub(before) as i64);
    numbers(out, "at", steps)?;
    numbers(out, "core", moments.iter().map(|moment| i64::from(moment.core)))?;
    numbers(out, "by", moments.iter().map(|moment| or_none(moment.by)))?;
    numbers(out, "to", moments.iter().map(|moment| or_none(moment.to)))?;
    numbers(out, "kind", moments.iter().map(|moment| moment.kind as i64))?;
    let text = moments.iter().map(|moment| or_none(Some(texts.number(&moment.text))));
    numbers(out, "text", text)?;
    let spans = story.spans.iter().flat_map(|span| {
        let text = texts.number(&span.text);
        let (row, text, from) = (or_none(Some(span.row)), or_none(Some(text)), span.from as i64);
        [row, span.doing as i64, text, from, or_none(span.to)]
    });
    numbers(out, "spans", spans)?;
    let arrows = story.arrows.iter().flat_map(|arrow| {
        let text = texts.number(&arrow.text);
        let ends = [arrow.from.0, arrow.from.1, arrow.to.0, arrow.to.1, text];
        [arrow.carries as i64].into_iter().chain(ends.map(|number| number as i64))
    });
    numbers(out, "arrows", arrows)?;
    out.push_str(",\"strings\":[");
    for (index, text) in texts.all.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}", json(text))?;
    }
    out.push_str("]}");
    Ok(())
}

fn numbers(out: &mut String, name: &str, all: impl Iterator<Item = i64>) -> fmt::Result {
    write!(out, ",\"{name}\":[")?;
    for (index, number) in all.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{number}")?;
    }
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests;
