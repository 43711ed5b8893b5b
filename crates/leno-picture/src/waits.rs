//! Who waits for what, as a picture.
//!
//! A report says of each coroutine what it waits for: another one, a channel, a lock, a time. Each
//! of these is a node, and each coroutine that waits has one arrow; a lock has one to whoever holds
//! it. Output depends on the report alone: the same report gives the same picture.

mod svg;

use std::collections::HashMap;

use leno_kernel::report::{Alive, Report};
use leno_kernel::{Co, Object, Reason, State};

use crate::Names;
use crate::layout::layout;

/// The picture of who waits for what, as an SVG that any browser shows.
///
/// Those who wait for each other in a circle, so that none of them can ever go on, are red.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Object, Options, Reason, park};
/// use leno_picture::{Names, waits};
///
/// let system = LocalSystem::new();
/// let orders = Object::local();
/// let cook = Options::new().name("cook");
/// drop(system.spawn_with(&cook, move || park(Reason::Hungry(orders)))?);
/// let deadlock = system.run().unwrap_err();
/// let picture = waits(&deadlock.report, &Names::new().object(orders, "orders"));
/// assert!(picture.starts_with("<svg") && picture.contains("cook") && picture.contains("orders"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn waits(report: &Report, names: &Names) -> String {
    let graph = Graph::new(report, names);
    let next: Vec<Option<usize>> = graph.nodes.iter().map(|node| node.next).collect();
    svg::draw(&graph, &layout(&next))
}

/// Nodes and, in them, whom each waits for.
struct Graph {
    nodes: Vec<Node>,
    /// How many of them are coroutines of the report.
    alive: usize,
}

/// A coroutine or what is waited for.
struct Node {
    looks: Looks,
    name: String,
    /// What it does, or what kind of thing it is.
    below: String,
    /// Everything, for whoever points at it.
    title: String,
    /// Whom it waits for, and how.
    next: Option<usize>,
    how: &'static str,
}

/// What a node looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    Runs,
    Ready,
    Waits,
    /// Not a coroutine.
    Thing,
    /// A coroutine that the report does not have.
    Elsewhere,
}

/// What is waited for, other than a coroutine of the report.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Thing {
    Object(&'static str, Object),
    Co(Co),
    Named(&'static str),
}

/// Whom a state waits for.
enum Target {
    Nobody,
    Co(Co),
    Thing(Thing),
}

impl Graph {
    fn new(report: &Report, names: &Names) -> Graph {
        let mut graph = Graph { nodes: Vec::new(), alive: report.alive.len() };
        let cos: HashMap<Co, usize> =
            report.alive.iter().enumerate().map(|(index, alive)| (alive.co, index)).collect();
        graph.nodes.extend(report.alive.iter().map(|alive| coroutine(alive, names)));
        let mut things: HashMap<Thing, usize> = HashMap::new();
        for (index, alive) in report.alive.iter().enumerate() {
            let (how, target) = target(alive.state);
            let thing = match target {
                Target::Nobody => continue,
                Target::Co(co) if cos.contains_key(&co) => {
                    graph.nodes[index].next = Some(cos[&co]);
                    graph.nodes[index].how = how;
                    continue;
                }
                Target::Co(co) => Thing::Co(co),
                Target::Thing(thing) => thing,
            };
            let next = *things.entry(thing).or_insert_with(|| {
                graph.nodes.push(thing.node(alive, names));
                graph.nodes.len() - 1
            });
            let holder = alive.sign.as_ref().and_then(|sign| sign.holder);
            if let (Thing::Object("lock", _), Some(holder)) = (thing, holder) {
                graph.nodes[next].next = cos.get(&holder).copied();
                graph.nodes[next].how = "held by";
            }
            graph.nodes[index].next = Some(next);
            graph.nodes[index].how = how;
        }
        graph
    }
}

fn target(state: State) -> (&'static str, Target) {
    let object = |how, kind, object| (how, Target::Thing(Thing::Object(kind, object)));
    let thing = |how, name| (how, Target::Thing(Thing::Named(name)));
    match state {
        State::Calling(co) => ("calls", Target::Co(co)),
        State::Parked(reason) => match reason {
            Reason::Hungry(channel) | Reason::Expecting(channel) => {
                object("receives", "channel", channel)
            }
            Reason::Blocked(channel) => object("sends", "channel", channel),
            Reason::Choosing(select) => object("selects", "select", select),
            Reason::Entry(entry) => object("serves", "entry", entry),
            Reason::Lock(lock) => object("locks", "lock", lock),
            Reason::Answer(callee) => object("calls", "callee", callee),
            Reason::Joining(Some(co)) | Reason::JoiningOutside(Some(co)) => {
                ("joins", Target::Co(co))
            }
            Reason::Joining(None) | Reason::JoiningOutside(None) => {
                thing("joins", "one not started")
            }
            Reason::Children => thing("joins", "children of its scope"),
            Reason::Sleeping => thing("sleeps", "time"),
            Reason::Io | Reason::Descriptor(..) => thing("waits", "I/O"),
            Reason::Future => thing("polls", "a waker"),
            Reason::Blocking => thing("waits", "helper threads"),
            Reason::Scheduling => thing("schedules", "its sink"),
            Reason::Stack => thing("waits", "a stack"),
            _ => ("", Target::Nobody),
        },
        _ => ("", Target::Nobody),
    }
}

fn coroutine(alive: &Alive, names: &Names) -> Node {
    let looks = match alive.state {
        State::Running => Looks::Runs,
        State::Parked(_) | State::Calling(_) => Looks::Waits,
        _ => Looks::Ready,
    };
    let name = alive.name.as_str().map_or_else(|| alive.co.to_string(), str::to_owned);
    let below = match alive.state {
        State::Parked(Reason::Passive) => "waits to be unparked".to_owned(),
        State::Parked(_) | State::Calling(_) => site(alive),
        state => state.to_string(),
    };
    let mut title = alive.to_string();
    if let (_, Target::Thing(Thing::Object(_, object))) = target(alive.state)
        && let Some(name) = names.get(object)
    {
        title.push_str(&format!("; {object} is '{name}'"));
    }
    if !matches!(alive.state, State::New | State::Running) {
        title.push_str(&format!("; since {}", alive.since));
    }
    Node { looks, name, below, title, next: None, how: "" }
}

/// File and line, without the folders.
fn site(alive: &Alive) -> String {
    let file = alive.site.file();
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{file}:{}", alive.site.line())
}

impl Thing {
    /// As one who waits for it sees it.
    fn node(self, alive: &Alive, names: &Names) -> Node {
        let sign = alive.sign.as_ref();
        let mut ends = String::new();
        let (looks, name, below) = match self {
            Thing::Object(kind, object) => {
                let on_sign = || sign.and_then(|sign| sign.name.as_ref()?.as_str());
                let name = names.get(object).or_else(on_sign);
                if let (Some(sign), "channel") = (sign, kind) {
                    ends = format!(": {} sender(s), {} receiver(s)", sign.senders, sign.receivers);
                }
                let number = || format!("{kind} {object}");
                (Looks::Thing, name.map_or_else(number, str::to_owned), kind)
            }
            Thing::Co(co) => (Looks::Elsewhere, co.to_string(), "elsewhere, or has ended"),
            Thing::Named(name) => (Looks::Thing, name.to_owned(), ""),
        };
        let title = format!("{name} {below}{ends}").trim().to_owned();
        Node { looks, name, below: below.to_owned(), title, next: None, how: "" }
    }
}

#[cfg(test)]
mod tests;
