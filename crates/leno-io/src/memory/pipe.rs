//! One direction of a connection: bytes in order, on their way or arrived, and how it ends.
//!
//! ```text
//!   the writer's side        on its way                 the reader's side
//!   write  ->  segments with the time of their arrival  ->  read
//!   shut, close            an end, after all segments        0 bytes, or ConnectionReset
//! ```
//! Invariants:
//! - arrivals are in order: no segment arrives before an earlier one, and the end after all;
//! - while the hosts are parted, what has not arrived stays on its way, with no time of arrival
//!   ([`Time::NEVER`]); healing sends it off again;
//! - `held` is the number of bytes in all segments, at most the link's capacity; once nobody reads any
//!   more, of those that were there and were written since.
//!
//! Nothing here waits, locks, or knows of hosts.

use core::time::Duration;
use std::collections::VecDeque;

use leno_kernel::Time;

use super::lines::{Line, Lines};

/// When something arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Time,
    /// How long it takes once it can go.
    latency: Duration,
}

impl Due {
    /// Sent off now, not to arrive before `earlier`.
    pub(super) fn new(now: Time, latency: Duration, is_parted: bool, earlier: Time) -> Due {
        let at = if is_parted { Time::NEVER } else { (now + latency).max(earlier) };
        Due { at, latency }
    }

    pub(super) fn has_come(self, now: Time) -> bool {
        self.at <= now
    }

    /// When to look again, if time alone brings it.
    pub(super) fn later(self) -> Option<Time> {
        (self.at != Time::NEVER).then_some(self.at)
    }

    /// The hosts are parted: what has not arrived will not.
    pub(super) fn part(&mut self, now: Time) {
        if !self.has_come(now) {
            self.at = Time::NEVER;
        }
    }

    /// They are not any more.
    pub(super) fn heal(&mut self, now: Time, earlier: Time) {
        if self.at == Time::NEVER {
            self.at = (now + self.latency).max(earlier);
        }
    }
}

#[derive(Debug)]
struct Segment {
    due: Due,
    bytes: VecDeque<u8>,
}

/// How a direction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In order: whoever writes is done.
    Done,
    /// The connection is lost.
    Reset,
}

/// What a look at the reader's side finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// So many bytes.
    Bytes(usize),
    Ended(End),
    /// Nothing yet; something arrives then.
    Nothing(Option<Time>),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Pipe {
    segments: VecDeque<Segment>,
    pub(super) held: usize,
    end: Option<(End, Due)>,
    /// Whoever reads wants no more: what comes is dropped as if it had been read.
    pub(super) is_shut: bool,
    /// Whoever reads is gone.
    pub(super) is_deaf: bool,
    /// When whoever writes learns that.
    pub(super) told: Option<Due>,
    pub(super) readers: Line,
    pub(super) writers: Line,
}

impl Pipe {
    pub(super) fn new(lines: &mut Lines) -> Pipe {
        Pipe {
            segments: VecDeque::new(),
            held: 0,
            end: None,
            is_shut: false,
            is_deaf: false,
            told: None,
            readers: lines.open(),
            writers: lines.open(),
        }
    }

    /// Its lines.
    pub(super) fn lines(&self) -> [Line; 2] {
        [self.readers, self.writers]
    }

    fn last(&self) -> Time {
        self.segments.back().map_or(Time::START, |segment| segment.due.at)
    }

    /// Puts bytes on their way.
    pub(super) fn put(&mut self, bytes: &[u8], now: Time, latency: Duration, is_parted: bool) {
        if bytes.is_empty() || self.is_shut || self.is_deaf {
            return;
        }
        self.held += bytes.len();
        let due = Due::new(now, latency, is_parted, self.last());
        match self.segments.back_mut() {
            Some(last) if last.due.at == due.at => last.bytes.extend(bytes),
            _ => self.segments.push_back(Segment { due, bytes: bytes.iter().copied().collect() }),
        }
    }

    /// Nothing comes after what is on its way.
    pub(super) fn finish(&mut self, end: End, now: Time, latency: Duration, is_parted: bool) {
        if self.end.is_none() {
            let due = Due::new(now, latency, is_parted, self.last());
            self.end = Some((end, due));
        }
    }

    /// How it ends, if whoever writes has said so.
    pub(super) fn end(&self) -> Option<End> {
        self.end.map(|(end, _)| end)
    }

    /// When whoever reads learns that the connection is lost, if it is.
    pub(super) fn lost_at(&self) -> Option<Due> {
        self.end.and_then(|(end, due)| (end == End::Reset).then_some(due))
    }

    /// What whoever reads finds.
    pub(super) fn look(&self, now: Time) -> Found {
        let arrived = self.segments.iter().take_while(|segment| segment.due.has_come(now));
        match arrived.map(|segment| segment.bytes.len()).sum() {
            0 => {}
            bytes => return Found::Bytes(bytes),
        }
        if let Some(segment) = self.segments.front() {
            return Found::Nothing(segment.due.later());
        }
        match self.end {
            Some((end, due)) if due.has_come(now) => Found::Ended(end),
            Some((_, due)) => Found::Nothing(due.later()),
            None => Found::Nothing(None),
        }
    }

    /// Copies what has arrived, as much as fits; it stays where it is.
    pub(super) fn peek(&self, into: &mut [u8]) {
        let bytes = self.segments.iter().flat_map(|segment| &segment.bytes);
        into.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }

    /// So many bytes are read.
    pub(super) fn take(&mut self, mut count: usize) {
        self.held -= count;
        while let Some(segment) = self.segments.front_mut() {
            let some = count.min(segment.bytes.len());
            segment.bytes.drain(..some);
            count -= some;
            if !segment.bytes.is_empty() {
                return;
            }
            self.segments.pop_front();
        }
    }

    /// Drops all bytes.
    pub(super) fn clear(&mut self) {
        self.segments.clear();
        self.held = 0;
    }

    /// Nobody reads any more. What was held keeps its room: whoever waits for room is not helped.
    pub(super) fn deafen(&mut self) {
        self.segments.clear();
        self.is_deaf = true;
    }

    /// What has not arrived never does; a reset comes in its place, if nothing else was said.
    pub(super) fn abandon(&mut self, now: Time, latency: Duration, is_parted: bool) {
        self.lose(now);
        self.finish(End::Reset, now, latency, is_parted);
    }

    /// The connection is lost now: what has not arrived never does.
    pub(super) fn reset(&mut self, now: Time) {
        self.lose(now);
        self.end = Some((End::Reset, Due::new(now, Duration::ZERO, false, Time::START)));
    }

    fn lose(&mut self, now: Time) {
        while self.segments.back().is_some_and(|segment| !segment.due.has_come(now)) {
            let lost = self.segments.pop_back();
            self.held -= lost.map_or(0, |segment| segment.bytes.len());
        }
    }

    pub(super) fn part(&mut self, now: Time) {
        self.segments.iter_mut().for_each(|segment| segment.due.part(now));
        self.end.iter_mut().for_each(|(_, due)| due.part(now));
        self.told.iter_mut().for_each(|due| due.part(now));
    }

    pub(super) fn heal(&mut self, now: Time) {
        let mut earlier = Time::START;
        for segment in &mut self.segments {
            segment.due.heal(now, earlier);
            earlier = segment.due.at;
        }
        self.end.iter_mut().for_each(|(_, due)| due.heal(now, earlier));
        self.told.iter_mut().for_each(|due| due.heal(now, Time::START));
    }
}
