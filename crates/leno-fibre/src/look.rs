//! Every fibre and channel of a run, as they are at one moment.

use leno_kernel::dump::Depth;
use leno_kernel::report::Alive;
use leno_kernel::{Co, Object, Reason, State};

use crate::scheduler::Scheduler;

/// The fibres and channels of a run, as they were; see [`Cx::look`](crate::Cx::look).
///
/// # Examples
/// ```
/// use leno_fibre::{channel, run};
///
/// run(|cx| {
///     let (out, inp) = channel::<u32>();
///     let hungry = cx.spawn(move |cx| inp.read(cx));
///     assert_eq!(cx.look().empty(), [out.object()]);
///     cx.yield_now();
///     let look = cx.look();
///     assert_eq!(look.hungry(), [(hungry.co().unwrap(), out.object())]);
///     assert_eq!(look.hungry_channels(), [out.object()]);
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Look {
    fibres: Vec<(Co, FibreState)>,
    channels: Vec<Object>,
}

/// What a fibre is doing. Each is in one of these states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FibreState {
    /// It runs; one of each run does.
    Running,
    /// It can run.
    Active,
    /// It waits to read from this channel.
    Hungry(Object),
    /// It waits to write to this channel.
    Blocked(Object),
    /// It waits for something other than a channel: time, another fibre's end.
    Waiting,
}

impl FibreState {
    fn of(alive: &Alive) -> FibreState {
        match alive.state {
            State::Running => FibreState::Running,
            State::Parked(Reason::Hungry(channel) | Reason::Expecting(channel)) => {
                FibreState::Hungry(channel)
            }
            State::Parked(Reason::Blocked(channel)) => FibreState::Blocked(channel),
            State::New | State::Ready => FibreState::Active,
            _ => FibreState::Waiting,
        }
    }
}

impl Look {
    pub(crate) fn of(scheduler: &Scheduler) -> Look {
        let Some(system) = scheduler.system() else { return Look::default() };
        let dump = system.dump(Depth::States);
        let fibres = dump.alive().map(|alive| (alive.co, FibreState::of(alive))).collect();
        Look { fibres, channels: scheduler.channels() }
    }

    /// Each fibre and its state.
    pub fn fibres(&self) -> &[(Co, FibreState)] {
        &self.fibres
    }

    /// The fibre that runs.
    pub fn running(&self) -> Option<Co> {
        self.fibres.iter().find(|(_, state)| *state == FibreState::Running).map(|(co, _)| *co)
    }

    /// The fibres that can run.
    pub fn active(&self) -> Vec<Co> {
        let active = self.fibres.iter().filter(|(_, state)| *state == FibreState::Active);
        active.map(|(co, _)| *co).collect()
    }

    /// The hungry fibres, each with its channel.
    pub fn hungry(&self) -> Vec<(Co, Object)> {
        self.at(|state| match state {
            FibreState::Hungry(channel) => Some(channel),
            _ => None,
        })
    }

    /// The blocked fibres, each with its channel.
    pub fn blocked(&self) -> Vec<(Co, Object)> {
        self.at(|state| match state {
            FibreState::Blocked(channel) => Some(channel),
            _ => None,
        })
    }

    fn at(&self, channel: impl Fn(FibreState) -> Option<Object>) -> Vec<(Co, Object)> {
        self.fibres.iter().filter_map(|(co, state)| Some((*co, channel(*state)?))).collect()
    }

    /// The channels of this run, in the order in which they were made; without those that have no end
    /// left.
    pub fn channels(&self) -> &[Object] {
        &self.channels
    }

    /// The channels at which someone is hungry.
    pub fn hungry_channels(&self) -> Vec<Object> {
        distinct(self.hungry())
    }

    /// The channels at which someone is blocked.
    pub fn blocked_channels(&self) -> Vec<Object> {
        distinct(self.blocked())
    }

    /// The channels of this run at which nobody waits.
    pub fn empty(&self) -> Vec<Object> {
        let waited = [self.hungry_channels(), self.blocked_channels()].concat();
        self.channels.iter().copied().filter(|channel| !waited.contains(channel)).collect()
    }
}

fn distinct(waiting: Vec<(Co, Object)>) -> Vec<Object> {
    let mut channels: Vec<Object> = waiting.into_iter().map(|(_, channel)| channel).collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}
