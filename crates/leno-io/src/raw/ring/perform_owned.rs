//! Operations on memory of their own, for futures: those may be dropped, moved or forgotten meanwhile.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{opcode, types};
use leno_kernel::Waiter;

use super::flights::{Cargo, Landed};
use super::perform::{CURSOR, outcome, size, sync};
use super::{Place, Ring};
use crate::fs::action::OwnedAction;
use crate::fs::buffer::Buffer;

/// Does it. When the future is dropped before that, the system is asked to stop it.
///
/// # Errors
/// Those of the operation. `ECANCELED`, if the thread that began it has ended: nothing was done then.
pub(crate) async fn perform_owned(
    ring: &Arc<Ring>,
    file: Arc<File>,
    action: OwnedAction,
) -> (io::Result<usize>, Buffer) {
    let fd = types::Fd(file.as_raw_fd());
    let (buffer, what) = match action {
        OwnedAction::Read { into, at } => (into, What::Read(at)),
        OwnedAction::Write { from, at } => (from, What::Write(at)),
        OwnedAction::Sync { data_only } => (Buffer::default(), What::Sync(data_only)),
    };
    let entry = move |memory: &mut [u8]| match what {
        What::Read(at) => opcode::Read::new(fd, memory.as_mut_ptr(), size(memory.len()))
            .offset(at.unwrap_or(CURSOR))
            .build(),
        What::Write(at) => opcode::Write::new(fd, memory.as_ptr(), size(memory.len()))
            .offset(at.unwrap_or(CURSOR))
            .build(),
        What::Sync(data_only) => sync(fd, data_only),
    };
    let mut aloft = Aloft { ring, flight: None, place: None };
    // SAFETY: the memory and the file are the cargo, which the table keeps until it has landed.
    let landed = unsafe { ring.start(Some(Cargo { file, buffer }), entry, &mut aloft.flight) };
    let landed = match landed {
        Some(landed) => landed,
        None => aloft.await,
    };
    let cargo = landed.cargo.expect("it was given some");
    (outcome(landed.result), cargo.buffer)
}

enum What {
    Read(Option<u64>),
    Write(Option<u64>),
    Sync(bool),
}

struct Aloft<'a> {
    ring: &'a Ring,
    flight: Option<u32>,
    place: Option<Place<'a>>,
}

impl Future for Aloft<'_> {
    type Output = Landed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Landed> {
        let this = &mut *self;
        let flight = this.flight.expect("a future is not polled after its end");
        // The waker itself, even of our own coroutines: while someone holds it, their core knows that
        // they may be woken.
        if !this.ring.enlist(flight, &mut this.place, Waiter::Waker(context.waker().clone())) {
            return Poll::Pending;
        }
        let landed = this.ring.inner().flights.take(flight).expect("it has landed");
        this.flight = None;
        Poll::Ready(landed)
    }
}

impl Drop for Aloft<'_> {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            self.ring.abandon(flight, self.place.take());
        }
    }
}
