//! What can be wrong with a graph, before it runs and while it does.

use core::fmt;

/// Why a graph cannot be built. Nothing has run.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A deterministic graph has a channel with several senders.
    ManySenders {
        /// What the channel is called.
        channel: String,
        /// Who sends into it.
        nodes: Vec<String>,
    },
    /// A deterministic graph has a channel with several receivers.
    ManyReceivers {
        /// What the channel is called.
        channel: String,
        /// Who receives from it.
        nodes: Vec<String>,
    },
    /// Nobody can ever send into a channel that is received from.
    NoSender {
        /// What the channel is called.
        channel: String,
        /// Who receives from it.
        nodes: Vec<String>,
    },
    /// Nobody can ever receive from a channel that is sent into.
    NoReceiver {
        /// What the channel is called.
        channel: String,
        /// Who sends into it.
        nodes: Vec<String>,
    },
    /// An end belongs to another graph.
    Foreign {
        /// What its channel is called.
        channel: String,
        /// Who was given it.
        node: String,
    },
    /// A channel has room for nothing.
    NoCapacity {
        /// What the channel is called.
        channel: String,
    },
    /// Nodes of fixed rates do not fit together: one of their channels would fill or run dry for ever.
    Rates {
        /// What the channel is called.
        channel: String,
        /// Who sends into it and who receives from it.
        nodes: Vec<String>,
    },
    /// Nodes of fixed rates would wait for each other for ever.
    CertainDeadlock {
        /// Who they are.
        nodes: Vec<String>,
        /// Through which channels.
        channels: Vec<String>,
    },
    /// The system has no cores for it.
    Cores(String),
}

fn list(names: &[String]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [one] => format!("'{one}'"),
        [all @ .., last] => {
            let all: Vec<String> = all.iter().map(|name| format!("'{name}'")).collect();
            format!("{} and '{last}'", all.join(", "))
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::ManySenders { channel, nodes } => write!(
                f,
                "channel '{channel}' has multiple senders: {}; in a deterministic graph the order of \
                 their messages would depend on the schedule",
                list(nodes)
            ),
            BuildError::ManyReceivers { channel, nodes } => write!(
                f,
                "channel '{channel}' has multiple receivers: {}; in a deterministic graph who gets \
                 which message would depend on the schedule",
                list(nodes)
            ),
            BuildError::NoSender { channel, nodes } => write!(
                f,
                "nobody can send into channel '{channel}', from which {} receives: its end to send \
                 is given to no node and was dropped",
                list(nodes)
            ),
            BuildError::NoReceiver { channel, nodes } => write!(
                f,
                "nobody can receive from channel '{channel}', into which {} sends: its end to receive \
                 is given to no node and was dropped",
                list(nodes)
            ),
            BuildError::Foreign { channel, node } => {
                write!(f, "node '{node}' was given an end of channel '{channel}' of another graph")
            }
            BuildError::NoCapacity { channel } => {
                write!(
                    f,
                    "channel '{channel}' has room for no message; give it a capacity of 1 or more"
                )
            }
            BuildError::Rates { channel, nodes } => write!(
                f,
                "the fixed rates of {} do not fit at channel '{channel}': it would fill or run dry",
                list(nodes)
            ),
            BuildError::CertainDeadlock { nodes, channels } => write!(
                f,
                "certain deadlock: {} wait for each other through {}",
                list(nodes),
                list(channels)
            ),
            BuildError::Cores(why) => write!(f, "no cores for a parallel graph: {why}"),
        }
    }
}

impl core::error::Error for BuildError {}

/// Someone outside waits for a graph that can never go on: who waits for what.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// Each who waits, from the one outside on.
    pub waits: Vec<Wait>,
}

/// One who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// What it is called; "outside" for who is none of the graph's nodes.
    pub node: String,
    /// For what.
    pub until: Until,
}

/// What someone waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// A message in the channel of this name.
    Message(String),
    /// Room for a message in the channel of this name.
    Room(String),
    /// A wake-up of its future, which awaits something that is none of the graph's; but nobody holds its waker.
    Woken,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = &self.node;
        match &self.until {
            Until::Message(channel) => {
                write!(f, "'{node}' waits to receive from channel '{channel}'")
            }
            Until::Room(channel) => write!(f, "'{node}' waits to send into channel '{channel}'"),
            Until::Woken => write!(f, "'{node}' awaits something that will never wake it"),
        }
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits: Vec<String> = self.waits.iter().map(Wait::to_string).collect();
        write!(f, "deadlock: {}", waits.join(", "))
    }
}

impl core::error::Error for Deadlock {}

/// Why someone outside gets nothing more from a graph, or can send nothing more into it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Halt {
    /// It would have to wait for ever.
    Deadlock(Deadlock),
    /// A node has panicked, so what there was need not be all.
    Panicked {
        /// Who it was; the first, if several have.
        node: String,
        /// What it said, if it was text.
        message: String,
    },
    /// The graph was dropped, or the system or coroutine that ran it was made to end, before its nodes had sent
    /// everything.
    Dropped,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Deadlock(deadlock) => deadlock.fmt(f),
            Halt::Panicked { node, message } if message.is_empty() => {
                write!(f, "node '{node}' has panicked")
            }
            Halt::Panicked { node, message } => write!(f, "node '{node}' has panicked: {message}"),
            Halt::Dropped => write!(
                f,
                "the graph was dropped before its nodes had sent everything, or what ran them was made to exit; \
                 keep its Run while its ends are used"
            ),
        }
    }
}

impl core::error::Error for Halt {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Halt::Deadlock(deadlock) => Some(deadlock),
            _ => None,
        }
    }
}

leno_context::debug_as_told!(BuildError, Deadlock, Halt);

impl From<Deadlock> for Halt {
    fn from(deadlock: Deadlock) -> Halt {
        Halt::Deadlock(deadlock)
    }
}
