//! Who may enter.
//!
//! Two desks, one for those who want to read and one for those who want to write, so that the first of
//! either kind can be looked at; the state says who is inside. Whoever asks takes a number first, by which
//! the desks can tell who came first. One that is attached and has not run yet has not said its number:
//! then the other desk waits until it has, for it may have come earlier.
//!
//! Invariants: a writer is inside alone; of the two clients at the desks, one may enter whenever nobody is
//! inside, whatever the preference.
//!
//! Protocol, between a desk that has to wait and those who could end that: it writes its client's number into
//! `heads` before it looks at anything else. Whoever changes something that it may wait for (leaves, says a
//! number at the other desk, gives up, changes the preference) does so first, and then prods the desk if a
//! number is there. So either the desk sees the change, or it is prodded after it has looked; and a prod is not
//! lost.

use core::fmt;
use std::sync::{Arc, Mutex};

use super::Preference;
use crate::synchroniser::claim::{Claim, Outcome};
use crate::synchroniser::desk::{self, Desk};
use crate::synchroniser::ground::Ground;
use leno_kernel::layer::user::lock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
}

impl Kind {
    fn other(self) -> Kind {
        match self {
            Kind::Read => Kind::Write,
            Kind::Write => Kind::Read,
        }
    }
}

/// What a client asks: its number.
pub(super) struct Asking {
    number: u64,
    desks: Arc<Desks>,
}

pub(super) struct Desks {
    state: Arc<Mutex<State>>,
    of: [Desk<Asking, Token>; 2],
}

#[derive(Default)]
struct State {
    readers: usize,
    writers: usize,
    preference: Preference,
    next: u64,
    /// How many are at each desk, or on their way to or from it.
    asking: [usize; 2],
    /// The numbers of those whom the desks keep waiting.
    heads: [Option<u64>; 2],
    is_over: bool,
}

/// What is known of the other desk.
#[derive(Clone, Copy)]
enum Rival {
    Nobody,
    /// Attached, and has not said its number.
    Unknown,
    Number(u64),
}

impl State {
    fn may_enter(&self, kind: Kind, number: u64, rival: Rival) -> bool {
        let is_free = match kind {
            Kind::Read => self.writers == 0,
            Kind::Write => self.writers == 0 && self.readers == 0,
        };
        let is_first = match (rival, self.preference, kind) {
            (Rival::Nobody, ..) => true,
            (_, Preference::Writers, kind) => kind == Kind::Write,
            (_, Preference::Readers, kind) => kind == Kind::Read,
            (Rival::Number(other), Preference::Arrival, _) => number < other,
            (Rival::Unknown, Preference::Arrival, _) => false,
        };
        is_free && is_first
    }

    fn inside(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Read => &mut self.readers,
            Kind::Write => &mut self.writers,
        }
    }
}

impl Desks {
    pub(super) fn new(system: &impl Ground, name: &str, preference: Preference) -> Desks {
        let state = Arc::new(Mutex::new(State { preference, ..State::default() }));
        let of = [(Kind::Read, "read"), (Kind::Write, "write")].map(|(kind, part)| {
            let (own, mut last) = (state.clone(), None);
            let serve = move |claim: &Arc<Claim<Asking, Token>>| look(claim, kind, &mut last);
            let name = format!("{name}.{part}").into();
            desk::open(&system.site(), name, serve, move || lock(&own).is_over)
        });
        Desks { state, of }
    }

    pub(super) fn of(&self, kind: Kind) -> &Desk<Asking, Token> {
        &self.of[kind as usize]
    }

    pub(super) fn preference(&self) -> Preference {
        lock(&self.state).preference
    }

    pub(super) fn set_preference(&self, preference: Preference) {
        self.change(&[Kind::Read, Kind::Write], |state| state.preference = preference);
    }

    /// A place inside, if nobody waits that it would pass.
    pub(super) fn try_enter(self: &Arc<Self>, kind: Kind) -> Option<Token> {
        let mut state = lock(&self.state);
        let is_passing = match (state.preference, kind) {
            (Preference::Readers, Kind::Read) => false,
            (Preference::Writers, Kind::Write) => state.asking[kind as usize] > 0,
            (_, Kind::Write) => state.asking != [0, 0],
            (_, Kind::Read) => state.asking[Kind::Write as usize] > 0,
        };
        if is_passing || !state.may_enter(kind, 0, Rival::Nobody) {
            return None;
        }
        *state.inside(kind) += 1;
        drop(state);
        Some(Token { desks: self.clone(), kind })
    }

    /// Changes something, and has those desks look again at which somebody waits.
    fn change(&self, kinds: &[Kind], change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        let heads = state.heads;
        drop(state);
        for kind in kinds {
            if heads[*kind as usize].is_some() {
                let _ = self.of[*kind as usize].prod();
            }
        }
    }

    /// A desk looks at its client.
    fn consider(self: &Arc<Self>, kind: Kind, number: u64) -> Option<Token> {
        let other = kind.other();
        let mut state = lock(&self.state);
        state.heads[kind as usize] = Some(number);
        let may_be_attached = state.asking[other as usize] > 0;
        drop(state);
        let is_attached = may_be_attached && self.of[other as usize].caller().is_some();
        let mut state = lock(&self.state);
        let rival = match state.heads[other as usize].filter(|_| is_attached) {
            Some(number) => Rival::Number(number),
            None if is_attached => Rival::Unknown,
            None => Rival::Nobody,
        };
        if !state.may_enter(kind, number, rival) {
            return None;
        }
        state.heads[kind as usize] = None;
        *state.inside(kind) += 1;
        drop(state);
        Some(Token { desks: self.clone(), kind })
    }

    fn arrive(&self, kind: Kind) -> u64 {
        let mut state = lock(&self.state);
        state.next += 1;
        state.asking[kind as usize] += 1;
        state.next
    }
}

/// A desk looks at a claim; `last` is the number it has seen last.
fn look(claim: &Claim<Asking, Token>, kind: Kind, last: &mut Option<u64>) -> Outcome {
    let mut first_seen = None;
    let outcome = claim.decide(|asking| {
        if last.replace(asking.number) != Some(asking.number) {
            first_seen = Some(asking.desks.clone());
        }
        asking.desks.consider(kind, asking.number)
    });
    // It has said its number, for which the other desk may wait.
    if let Some(desks) = first_seen.filter(|_| outcome == Outcome::Waits) {
        desks.change(&[kind.other()], |_| {});
    }
    outcome
}

/// Who is inside, and how many ask.
impl fmt::Display for Desks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not written while it is locked: what it is written into is code of a user.
        let (readers, writers, [read, write]) = {
            let state = lock(&self.state);
            (state.readers, state.writers, state.asking)
        };
        write!(f, "inside: {readers} readers, {writers} writers; asking: {read}, {write}")
    }
}

impl Drop for Desks {
    fn drop(&mut self) {
        lock(&self.state).is_over = true;
        for desk in &self.of {
            let _ = desk.kick();
        }
    }
}

/// A place inside, until it is dropped.
pub(super) struct Token {
    desks: Arc<Desks>,
    kind: Kind,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.desks.change(&[Kind::Read, Kind::Write], |state| *state.inside(self.kind) -= 1);
    }
}

/// Somebody is at a desk, until its call has come back.
pub(super) struct Client<'a> {
    desks: &'a Arc<Desks>,
    kind: Kind,
    number: u64,
}

impl<'a> Client<'a> {
    pub(super) fn new(desks: &'a Arc<Desks>, kind: Kind) -> (Client<'a>, Asking) {
        let number = desks.arrive(kind);
        (Client { desks, kind, number }, Asking { number, desks: desks.clone() })
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.desks.change(&[self.kind.other()], |state| {
            state.asking[self.kind as usize] -= 1;
            state.heads[self.kind as usize].take_if(|head| *head == self.number);
        });
    }
}
