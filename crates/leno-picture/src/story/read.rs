//! From events to moments, spans and arrows.

use leno_kernel::log::{Event, Log, What};
use leno_kernel::policy::Why;

use super::{Arrow, Carries, Doing, Kind, Moment, Row, Span, Story};
use crate::Names;
use crate::words::Words;

/// Everything but the values.
pub(super) fn read(log: &Log, names: &Names) -> Story {
    let story = Story { lost: log.lost(), ..Story::default() };
    let mut reader = Reader { words: Words::new(log, names), lives: Vec::new(), story };
    for event in log.events() {
        reader.add(event);
    }
    reader.finish()
}

struct Reader<'a> {
    words: Words<'a>,
    /// By number, which is the row.
    lives: Vec<Life>,
    story: Story,
}

/// What is known of a coroutine so far.
#[derive(Default)]
struct Life {
    /// What it does.
    span: Option<Span>,
    heard_of: bool,
    site: Option<String>,
    spawned: Option<usize>,
}

impl Reader<'_> {
    fn add(&mut self, event: &Event) {
        let now = self.story.moments.len();
        let by = event.by.map(|co| self.words.number(co));
        let text = self.words.what(&event.what);
        let to = match &event.what {
            What::Spawned { co, .. } | What::Woke { co, .. } | What::Calls(co) => {
                Some(self.words.number(*co))
            }
            _ => None,
        };
        self.lives.resize_with(self.words.cos().len(), Life::default);
        self.guess_before(&event.what, by, to);
        match (&event.what, by, to) {
            (What::Spawned { site, .. }, _, Some(to)) => {
                let life = &mut self.lives[to];
                (life.site, life.spawned) = (Some(site.to_string()), Some(now));
                self.begins(to, Doing::New, "has not begun");
            }
            (What::Woke { .. }, _, Some(to)) => self.begins(to, Doing::Ready, "is ready"),
            (What::Yielded, Some(by), _) => self.begins(by, Doing::Ready, "is ready"),
            (What::Runs, Some(by), _) => self.begins(by, Doing::Runs, "runs"),
            (What::Parked(reason), Some(by), _) => self.begins(by, Doing::of(*reason), &text),
            (What::Calls(_), Some(by), _) => self.begins(by, Doing::Calls, &text),
            (What::Ended(_), Some(by), _) => self.ends(by),
            _ => {}
        }
        if let (Some(by), Some(to)) = (by, to)
            && let Some(carries) = self.carries(&event.what, by, to)
        {
            let (from, to) = ((by, now), (to, now));
            self.story.arrows.push(Arrow { carries, from, to, text: text.clone() });
        }
        let (at, core, kind) = (event.at.as_nanos(), event.core, Kind::of(&event.what));
        self.story.moments.push(Moment { at, core, by, to, kind, text });
    }

    /// It does something else from now on.
    fn begins(&mut self, row: usize, doing: Doing, text: &str) {
        self.ends(row);
        let from = self.story.moments.len();
        self.lives[row].span = Some(Span { row, doing, text: text.to_owned(), from, to: None });
    }

    /// It does nothing from now on.
    fn ends(&mut self, row: usize) {
        let now = self.story.moments.len();
        if let Some(span) = self.lives[row].span.take() {
            self.story.spans.push(Span { to: Some(now), ..span });
        }
    }

    /// What someone must have done since before the log begins, when it is first heard of.
    fn guess_before(&mut self, what: &What, by: Option<usize>, to: Option<usize>) {
        let is_lost = self.story.lost > 0 && !self.story.moments.is_empty();
        let mut heard = |row: usize| core::mem::replace(&mut self.lives[row].heard_of, true);
        let by = by.filter(|by| !heard(*by));
        let to = to.filter(|to| !heard(*to));
        let (row, doing, text) = match (what, by, to) {
            (What::Spawned { .. }, None, _) | (What::Runs, ..) => return,
            (What::Woke { .. }, None, Some(to)) => {
                (to, Doing::Waits, "waits; for what, the log has lost")
            }
            (_, Some(by), _) => (by, Doing::Runs, "runs"),
            _ => return,
        };
        if is_lost {
            let text = text.to_owned();
            self.lives[row].span = Some(Span { row, doing, text, from: 0, to: None });
        }
    }

    /// What an arrow between these two stands for, if there is to be one.
    fn carries(&self, what: &What, by: usize, to: usize) -> Option<Carries> {
        let last = self.story.arrows.last();
        let is_same = |arrow: &Arrow| arrow.from.0 == by && arrow.to.0 == to;
        let made_by = |to: usize| self.story.moments[self.lives[to].spawned?].by;
        match what {
            What::Spawned { .. } => Some(Carries::Spawn),
            What::Calls(_) => Some(Carries::Call),
            What::Woke { .. } if by == to => None,
            // There is an arrow for that already.
            What::Woke { why: Why::Spawned, .. } if made_by(to) == Some(by) => None,
            What::Woke { .. }
                if last.is_some_and(|a| a.carries == Carries::Call && is_same(a))
                    && self.story.moments.last().is_some_and(|m| m.to == Some(to)) =>
            {
                None
            }
            What::Woke { .. } => Some(Carries::WakeUp),
            _ => None,
        }
    }

    fn finish(self) -> Story {
        let Reader { mut words, lives, mut story } = self;
        let cos = words.cos().to_vec();
        for (co, life) in cos.into_iter().zip(lives) {
            let Life { span, site, spawned, .. } = life;
            story.spans.extend(span);
            story.rows.push(Row { name: words.co(co), co, site, spawned });
        }
        story.spans.sort_by_key(|span| (span.from, span.row));
        // Numbers of cores are unique in the process; here they count the cores of the log.
        let mut cores: Vec<u32> = story.moments.iter().map(|moment| moment.core).collect();
        cores.sort_unstable();
        cores.dedup();
        for moment in &mut story.moments {
            let place = cores.binary_search(&moment.core).unwrap_or_default();
            moment.core = u32::try_from(place).unwrap_or_default();
        }
        story
    }
}
