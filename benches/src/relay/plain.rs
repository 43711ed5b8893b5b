//! The least that does the work: a rendezvous and a queue written by hand over corosensei, for one
//! thread. Nothing can be cancelled, timed, named, selected from, or woken from elsewhere. It is no
//! peer but a floor: what is left of a channel when everything that makes it one is left out.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

use super::{Blocking, Ends, Member, Room};
use crate::bench::rings::STACK;
use crate::contender::Failure;

thread_local! {
    /// Who can run.
    static READY: RefCell<VecDeque<usize>> = const { RefCell::new(VecDeque::new()) };
    /// Who runs, and how it suspends.
    static RUNNING: Cell<(usize, *const Yielder<(), ()>)> = const { Cell::new((0, ptr::null())) };
}

/// A rendezvous, or with room a queue.
pub struct Meeting {
    room: usize,
    values: RefCell<VecDeque<u64>>,
    taker: Cell<Option<usize>>,
    giver: Cell<Option<usize>>,
    closed: Cell<bool>,
}

pub struct Tx(Rc<Meeting>);

impl Drop for Tx {
    fn drop(&mut self) {
        self.0.closed.set(true);
        ready(self.0.taker.take());
    }
}

fn ready(member: Option<usize>) {
    if let Some(member) = member {
        READY.with_borrow_mut(|ready| ready.push_back(member));
    }
}

fn suspend() {
    let running = RUNNING.get();
    let yielder = NonNull::new(running.1.cast_mut()).expect("a member runs");
    // SAFETY: corosensei's yielder lives on the stack of the coroutine that runs, which `crew` noted
    // when it began, and every member notes anew when it goes on.
    unsafe { yielder.as_ref() }.suspend(());
    RUNNING.set(running);
}

impl Ends for Meeting {
    type Tx = Tx;
    type Rx = Rc<Meeting>;

    fn open(room: Room) -> (Self::Tx, Self::Rx) {
        let meeting = Rc::new(Meeting {
            room: match room {
                Room::Nothing => 0,
                Room::Some(n) => n,
                Room::Any => usize::MAX,
            },
            values: RefCell::default(),
            taker: Cell::new(None),
            giver: Cell::new(None),
            closed: Cell::new(false),
        });
        (Tx(meeting.clone()), meeting)
    }
}

impl Blocking for Meeting {
    fn send(Tx(meeting): &Tx, value: u64) {
        let mut values = meeting.values.borrow_mut();
        values.push_back(value);
        let full = values.len() > meeting.room;
        drop(values);
        let taker = meeting.taker.take();
        if taker.is_none() && full {
            meeting.giver.set(Some(RUNNING.get().0));
            suspend();
        } else {
            ready(taker);
        }
    }

    fn recv(meeting: &Rc<Meeting>) -> Option<u64> {
        loop {
            let value = meeting.values.borrow_mut().pop_front();
            if value.is_some() || meeting.closed.get() {
                ready(meeting.giver.take());
                return value;
            }
            meeting.taker.set(Some(RUNNING.get().0));
            suspend();
        }
    }
}

/// Resumes whoever is ready, in order, until nobody is.
pub fn crew(members: Vec<Member<Meeting>>) -> Result<(), Failure> {
    let mut all = Vec::with_capacity(members.len());
    for (index, member) in members.into_iter().enumerate() {
        let stack = DefaultStack::new(STACK).map_err(|e| Failure::stopped_at(index, e))?;
        all.push(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            RUNNING.set((index, yielder));
            member.run();
        }));
        ready(Some(index));
    }
    while let Some(index) = READY.with_borrow_mut(VecDeque::pop_front) {
        all[index].resume(());
    }
    Ok(())
}
