//! Messages that pass from member to member: a ring with a token, a chain, a stream.
//!
//! All three are the same shape: members stand in a circle, each receives from the one before it and
//! sends to the one after it. What a member does with that is its [`Role`]; what it is (a coroutine, a
//! task, a thread) its crew decides ([`crew`]), and what lies between two members is a pair of
//! [`Ends`] ([`ends`]). So every contender does the same work, and adding one takes few lines.
//!
//! One member holds the clock: it starts when a first message has been all the way round, so that
//! everyone has started, and stops when the last one has arrived. Setting up and taking down are
//! outside. Every role checks what it received.

pub mod crew;
pub mod ends;
pub mod plain;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::contender::{Contender, Failure, Result, Turn};

/// How many values fit between two members. Where a channel cannot do what is asked for, it does what
/// is nearest: some have no rendezvous.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// None: a rendezvous.
    Nothing,
    Some(usize),
    Any,
}

/// A kind of channel.
pub trait Ends: Sized + 'static {
    type Tx: 'static;
    type Rx: 'static;

    fn open(room: Room) -> (Self::Tx, Self::Rx);
}

/// Ends whose operations block, or park, whoever calls.
pub trait Blocking: Ends {
    fn send(tx: &Self::Tx, value: u64);

    /// Nothing when the channel is closed.
    fn recv(rx: &Self::Rx) -> Option<u64>;
}

/// Ends for tasks.
pub trait Asynchronous: Ends {
    /// The whole life of a member; see [`asynchronously!`].
    fn run(member: Member<Self>) -> impl Future<Output = ()> + Send + 'static;
}

/// What members do, and what of that is one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    /// A token goes round among so many, by rendezvous; one operation is one hop.
    Ring(u64),
    /// Messages go down a chain of so many, by rendezvous, one after the other; one operation is one
    /// hop.
    Chain(u64),
    /// Messages go from one to the other; one operation is one message.
    Stream(Room),
}

impl Plan {
    /// The smallest turn, in operations.
    pub fn granule(self) -> u64 {
        match self {
            Self::Ring(k) => k,
            Self::Chain(k) => k + 1,
            Self::Stream(_) => 1,
        }
    }

    /// The members for a turn of `n` operations, the one with the clock first.
    fn members<E: Ends>(self, n: u64) -> (Vec<Member<E>>, Arc<Watch>) {
        let rounds = (n / self.granule()).max(1);
        let (first, links, last, room) = match self {
            Self::Ring(k) => (Role::Starter { laps: rounds }, k - 1, None, Room::Nothing),
            Self::Chain(k) => {
                (Role::Source { messages: rounds }, k, Some(Role::Sink), Room::Nothing)
            }
            Self::Stream(room) => (Role::Source { messages: rounds }, 0, Some(Role::Sink), room),
        };
        let roles: Vec<Role> =
            [first].into_iter().chain((0..links).map(|_| Role::Link)).chain(last).collect();
        let watch = Arc::new(Watch { operations: rounds * self.granule(), took: OnceLock::new() });
        // The channel into the first member carries an answer at most; only the others need room.
        let (into_first, rx) = E::open(Room::Nothing);
        let (mut into_first, mut before) = (Some(into_first), Some(rx));
        let mut members: Vec<Member<E>> = Vec::with_capacity(roles.len());
        for (index, role) in roles.iter().enumerate() {
            let rx = before.take().expect("each member leaves one for the next");
            let tx = if index + 1 == roles.len() {
                into_first.take().expect("there is one last member")
            } else {
                let (tx, rx) = E::open(room);
                before = Some(rx);
                tx
            };
            members.push(Member { role: *role, rx, tx, watch: watch.clone() });
        }
        (members, watch)
    }
}

/// What one member does.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// Sends a token round and waits for it, so many times, and times that.
    Starter { laps: u64 },
    /// Sends so many messages, waits for an answer, and times that.
    Source { messages: u64 },
    /// Passes on what it receives, plus one.
    Link,
    /// Receives, and answers each [`LAST`] with how many came before it.
    Sink,
}

/// One member: a role, and the channels to its neighbours.
pub struct Member<E: Ends> {
    pub role: Role,
    pub rx: E::Rx,
    pub tx: E::Tx,
    pub watch: Arc<Watch>,
}

/// What a closed channel means here.
pub const OPEN: &str = "neighbours stay until the last message has come";

/// Messages carry their number above this bit, and below it how many links they have passed.
const NUMBER: u32 = 32;
/// The message that a sink answers.
pub const LAST: u64 = u64::MAX >> NUMBER << NUMBER;

impl<E: Blocking> Member<E> {
    /// The whole life of a member.
    pub fn run(self) {
        let Self { role, rx, tx, watch } = self;
        match role {
            Role::Starter { laps } => {
                let mut token = 0;
                let mut lap = || {
                    E::send(&tx, token);
                    token = E::recv(&rx).expect(OPEN);
                };
                (0..warm_up(laps)).for_each(|_| lap());
                watch.time(|| (0..laps).for_each(|_| lap()));
                watch.check(token.is_multiple_of(laps + warm_up(laps)));
            }
            Role::Source { messages } => {
                E::send(&tx, LAST);
                E::recv(&rx).expect(OPEN);
                let passed = watch.time(|| {
                    (1..=messages).for_each(|i| E::send(&tx, numbered(i)));
                    E::send(&tx, LAST);
                    E::recv(&rx).expect(OPEN)
                });
                watch.check(passed == messages);
            }
            Role::Link => {
                while let Some(value) = E::recv(&rx) {
                    E::send(&tx, value + 1);
                }
            }
            Role::Sink => {
                let mut received = 0;
                while let Some(value) = E::recv(&rx) {
                    if value >= LAST {
                        E::send(&tx, received);
                    } else {
                        received += 1;
                        watch.check(number(value) == received);
                    }
                }
            }
        }
    }
}

/// The whole life of a member whose ends are awaited, for an `async` block: `asynchronously!(member,
/// tx, value => send it, rx => receive)`. A macro, because the future has to be `Send` exactly where
/// its ends are.
macro_rules! asynchronously {
    ($member:expr, $tx:ident, $value:ident => $send:expr, $rx:ident => $recv:expr) => {{
        use $crate::relay::{self, OPEN, Role};
        #[allow(unused_mut, reason = "some receive through a shared reference")]
        let $crate::relay::Member { role, rx: mut $rx, tx: $tx, watch } = $member;
        match role {
            Role::Starter { laps } => {
                let mut $value = 0;
                let mut start = relay::now();
                for lap in 0..laps + relay::warm_up(laps) {
                    if lap == relay::warm_up(laps) {
                        start = relay::now();
                    }
                    $send;
                    $value = $recv.expect(OPEN);
                }
                watch.took(start);
                watch.check($value.is_multiple_of(laps + relay::warm_up(laps)));
            }
            Role::Source { messages } => {
                let mut $value = relay::LAST;
                $send;
                $recv.expect(OPEN);
                let start = relay::now();
                for number in 1..=messages {
                    $value = relay::numbered(number);
                    $send;
                }
                $value = relay::LAST;
                $send;
                let received = $recv.expect(OPEN);
                watch.took(start);
                watch.check(received == messages);
            }
            Role::Link => {
                while let Some(received) = $recv {
                    let $value = received + 1;
                    $send;
                }
            }
            Role::Sink => {
                let mut number = 0;
                while let Some(received) = $recv {
                    if received >= relay::LAST {
                        let $value = number;
                        $send;
                    } else {
                        number += 1;
                        watch.check(relay::number(received) == number);
                    }
                }
            }
        }
    }};
}
pub(crate) use asynchronously;

pub fn numbered(number: u64) -> u64 {
    number << NUMBER
}

pub fn number(message: u64) -> u64 {
    message >> NUMBER
}

pub fn now() -> Instant {
    Instant::now()
}

/// Laps before the clock starts.
pub fn warm_up(laps: u64) -> u64 {
    laps / 10 + 1
}

/// How long the messages took, as the member with the clock says.
pub struct Watch {
    operations: u64,
    took: OnceLock<Duration>,
}

impl Watch {
    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.took(start);
        result
    }

    pub fn took(&self, since: Instant) {
        let _ = self.took.set(since.elapsed()); // Only one member has the clock.
    }

    pub fn check(&self, right: bool) {
        assert!(right, "a message was lost, doubled or overtaken");
    }

    fn turn(&self) -> Result {
        let took = self.took.get().ok_or_else(|| Failure::failed("nobody held the clock"))?;
        Ok(Turn::ns(*took, self.operations))
    }
}

/// What runs members to their end.
pub type Crew<E> = fn(Vec<Member<E>>) -> std::result::Result<(), Failure>;

/// A contender: this crew, over these ends.
pub fn contender<E: Ends>(name: &'static str, plan: Plan, crew: Crew<E>) -> Contender {
    Contender::measured(name, move |n| {
        let (members, watch) = plan.members::<E>(n);
        crew(members)?;
        watch.turn()
    })
}

#[cfg(test)]
mod tests {
    use super::ends::Crossbeam;
    use super::{Plan, Room, contender, crew, plain};

    #[test]
    fn every_plan_ends_and_is_timed() {
        let plans = [
            Plan::Ring(2),
            Plan::Ring(7),
            Plan::Chain(1),
            Plan::Chain(5),
            Plan::Stream(Room::Nothing),
            Plan::Stream(Room::Some(3)),
            Plan::Stream(Room::Any),
        ];
        for plan in plans {
            let n = 10 * plan.granule();
            let turn = contender::<Crossbeam>("thread", plan, crew::threads).turn(n);
            assert!(turn.unwrap().value > 0.0, "{plan:?}");
            let turn = contender::<plain::Meeting>("corosensei", plan, plain::crew).turn(n);
            assert!(turn.unwrap().value > 0.0, "{plan:?}");
        }
    }
}
