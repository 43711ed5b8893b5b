//! A log that was written as text, read again.
//!
//! Each line is what `Display` of `leno::kernel::log::Log` writes: `0.000123 s 'cook' parks: ..`. What is not
//! such a line (the output of a program around it, say) is left out, and counted.

/// What a log's text tells.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Who is spoken of, in the order in which they first did something.
    pub(super) who: Vec<String>,
    pub(super) events: Vec<Event>,
    /// Lines that are none of a log.
    pub(super) others: usize,
}

/// One line.
#[derive(Debug, PartialEq)]
pub(super) struct Event {
    /// Microseconds.
    pub(super) at: u64,
    /// By its number in `who`.
    pub(super) by: usize,
    pub(super) what: String,
}

impl Recorded {
    pub(super) fn read(text: &str) -> Recorded {
        let mut recorded = Recorded::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match event(line) {
                Some((at, by, what)) => {
                    let known = recorded.who.iter().position(|who| who == by);
                    let by = known.unwrap_or_else(|| {
                        recorded.who.push(by.to_owned());
                        recorded.who.len() - 1
                    });
                    recorded.events.push(Event { at, by, what: what.to_owned() });
                }
                None => recorded.others += 1,
            }
        }
        recorded
    }

    /// Who is woken or spawned by this event, if that is one of `who`.
    pub(super) fn target(&self, event: &Event) -> Option<usize> {
        let rest = ["wakes ", "calls ", "spawns "]
            .iter()
            .find_map(|verb| event.what.strip_prefix(verb))?;
        let found = self.who.iter().enumerate().filter(|(_, who)| rest.starts_with(who.as_str()));
        found.max_by_key(|(_, who)| who.len()).map(|(at, _)| at)
    }
}

/// When, who, and what.
fn event(line: &str) -> Option<(u64, &str, &str)> {
    let (time, rest) = line.trim_start().split_once(" s ")?;
    let (seconds, micros) = time.split_once('.')?;
    if micros.len() != 6 {
        return None;
    }
    let at = seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?;
    let at = at.checked_add(micros.parse().ok()?)?;
    // A name is quoted; whoever has none is `coroutine 3`, and the core `the core` or the like.
    let end = match rest.strip_prefix('\'') {
        Some(name) => name.find('\'')? + 2,
        None => ["coroutine ", "core "]
            .iter()
            .find_map(|kind| {
                let number = rest.strip_prefix(kind)?;
                Some(kind.len() + number.find(' ')?)
            })
            .or_else(|| verb(rest))?,
    };
    let (by, what) = rest.split_at_checked(end)?;
    let what = what.trim_start();
    (!what.is_empty()).then_some((at, by.trim(), what))
}

/// Where the first word begins that only events have.
fn verb(rest: &str) -> Option<usize> {
    const VERBS: [&str; 12] = [
        " spawns ",
        " runs",
        " yields",
        " parks",
        " calls ",
        " wakes ",
        " ends",
        " chooses ",
        " begins ",
        " does ",
        " fails ",
        " says:",
    ];
    VERBS.iter().filter_map(|verb| rest.find(verb)).min()
}

#[cfg(test)]
mod tests {
    use super::{Event, Recorded};

    #[test]
    fn lines_of_a_log_are_read_and_others_counted() {
        let text = "building ...\n0.000012 s 'the cook' runs\n1.000000 s coroutine 2 wakes 'the cook' (Unpark)\n";
        let recorded = Recorded::read(text);
        assert_eq!(recorded.who, ["'the cook'", "coroutine 2"]);
        assert_eq!(recorded.events[0], Event { at: 12, by: 0, what: "runs".into() });
        assert_eq!(recorded.events[1].at, 1_000_000);
        assert_eq!(recorded.target(&recorded.events[1]), Some(0));
        assert_eq!(recorded.others, 1);
    }

    #[test]
    fn damaged_lines_are_no_events() {
        for line in [
            "1.5 s 'a' runs",
            "x.000001 s 'a' runs",
            "0.000001 s 'a",
            "0.000001 s ",
            "99999999999999999999.000000 s 'a' runs",
        ] {
            assert_eq!(Recorded::read(line).events, [], "{line}");
        }
    }
}
