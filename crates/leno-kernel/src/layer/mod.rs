//! What authors of layers need: waiting, waking, choices, units of work, ledgers, worlds.
//!
//! Programs need none of it. Channels, I/O, fibres, processes and graphs are made of what is here and of
//! [`park`](crate::park) and [`unpark`](crate::unpark): a crate of your own can be, too. Each function states what it
//! expects of the calling code, and none of them can break memory safety.
//!
//! - [`queue`]: lines of those that wait, in whose frames the waits lie. Begin here.
//! - [`user`]: how code of others is called: where nothing is locked, and what leaves it is caught.
//! - [`Sign`], [`park_on`]: parking with a description for dumps and for graphs of who waits for what.
//! - [`choose`]: choices that a policy or an exploration decides.
//! - [`count_operation`], [`charge_later`]: units that budgets count.
//! - [`listen`], [`bell`]: spinning for a while before a thread sleeps.
//! - [`ledger`]: who has which end of which channel, so that those that nobody can wake are found.
//! - [`heritage`]: what a coroutine inherits from the one that spawns it.
//! - [`world`]: programs whose threads, time and chance are in the hands of a driver.

pub mod bell;
pub mod heritage;
pub mod ledger;
pub mod queue;
pub mod user;
pub mod world;

pub use crate::alarm::Alarm;
pub use crate::budget::{charge_later, count_operation};
pub use crate::caller::{
    current_on_own_stack, current_stack, current_system, has_policy, lodger, thread_number, who,
};
pub use crate::core::{bell_to_listen_at, listen, listen_at};
pub use crate::sign::{Shown, Sign, park_on, park_on_until};
pub use crate::wait::{
    call, choose, common_now, deadline_in, exit_as, give_way, park_deaf, parks, unpark_partner,
    unpark_with,
};
#[doc(hidden)]
pub use leno_context::is_planted;
