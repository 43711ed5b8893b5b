//! What the sockets of [`net`](crate::net) need of those in memory: to wait until a try is worth it.

use core::convert::Infallible;
use core::task::{Context, Poll};
use std::io;
use std::sync::Mutex;

use leno_kernel::Time;
use leno_kernel::io::Interest;
use leno_kernel::layer::{Alarm, common_now};

use super::network::Inner;
use super::ready::{Look, Ready, writes};
use super::state::waiters;
use super::wait::{Operation, common_time, discard, own_time};
use super::{Listener, Socket, Stream};
use crate::user::lock;

/// Something whose operations may be worth trying.
pub(crate) trait Watch {
    /// What is looked at, and where.
    fn watch(&self, interest: Interest) -> Watching<'_>;

    /// Waits until an operation is worth trying: for futures and selects.
    fn ready(&self, interest: Interest) -> Ready<'_> {
        let Watching { network, look } = self.watch(interest);
        Ready::new(network, look)
    }

    /// The same for coroutines and threads, until a time of their own clock.
    #[track_caller]
    fn wait_ready(&self, interest: Interest, deadline: Option<Time>) -> io::Result<()> {
        let Watching { network, look } = self.watch(interest);
        network.wait(look, deadline.map(common_time))
    }
}

/// See [`Watch::watch`].
pub(crate) struct Watching<'a> {
    network: &'a Inner,
    look: Look<'a>,
}

impl Watch for Stream {
    fn watch(&self, interest: Interest) -> Watching<'_> {
        Watching { network: self.inner(), look: self.look(interest) }
    }
}

impl Watch for Listener {
    fn watch(&self, _: Interest) -> Watching<'_> {
        Watching { network: self.inner(), look: self.look() }
    }
}

impl Watch for Socket {
    fn watch(&self, interest: Interest) -> Watching<'_> {
        Watching { network: self.inner(), look: self.look(interest) }
    }
}

impl Watch for Infallible {
    fn watch(&self, _: Interest) -> Watching<'_> {
        match *self {}
    }
}

/// The alarms of hand-written futures, which have no place of their own for them: one for reading, one for
/// writing.
#[derive(Default)]
pub(crate) struct Alarms(Mutex<[Option<Alarm>; 2]>);

impl Alarms {
    /// Whether an operation is worth trying; else has the context's waker woken, once.
    pub(crate) fn poll(
        &self,
        socket: &impl Watch,
        interest: Interest,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let Watching { network, look } = socket.watch(interest);
        // Taken only if it is used: else it is dropped here, without the lock.
        let place = look.place();
        let mut waiters = waiters(place, network.waiter(context));
        let common = common_now();
        let looked = network.with(|state| {
            let looked = state.is_ready(look.what, look.interest, common);
            if looked.is_err() {
                state.poll(place, &mut waiters);
            }
            looked
        });
        discard(waiters);
        let Err(later) = looked else { return Poll::Ready(()) };
        let alarm = later.map(|at| Alarm::set(own_time(at, common), context));
        let side = usize::from(writes(interest));
        let old = {
            let mut alarms = lock(&self.0);
            core::mem::replace(&mut alarms[side], alarm)
        };
        drop(old);
        Poll::Pending
    }
}
