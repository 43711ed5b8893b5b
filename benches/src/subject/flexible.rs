//! leno in `flexible-call`, `-buffer` and `-readers`: on a home core, and without one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use leno::flexible::{AsyncMe, Flexible, Me, System, Threadless};

use crate::bench::flexible::buffer::ROOM;
use crate::bench::flexible::readers::writes;
use crate::bench::flexible::{Shared, contender};
use crate::contender::Contender;

/// Something of a system, which lives as long.
struct Of<S, T> {
    inner: T,
    _system: S,
}

pub fn call(threads: u64) -> Vec<Contender> {
    vec![
        contender("leno", threads, || {
            let system = System::new();
            let sum = system.create("sum", |me: &mut Me<u64, u64>| {
                let mut sum = 0;
                loop {
                    sum += me.parameter().unwrap_or(0);
                    me.detach(sum);
                }
            });
            Of { inner: Sum(sum), _system: system }
        }),
        contender("leno threadless", threads, || {
            let system = Threadless::new();
            let sum = system.create("sum", |mut me: AsyncMe<u64, u64>| async move {
                let mut sum = 0;
                loop {
                    sum += me.parameter().unwrap_or(0);
                    me.detach(sum).await;
                }
            });
            Of { inner: Sum(sum), _system: system }
        }),
    ]
}

struct Sum(Flexible<u64, u64>);

impl<S: Send + Sync + 'static> Shared for Of<S, Sum> {
    fn operate(&self, _: usize, n: u64) {
        std::hint::black_box(self.inner.0.call(n).expect("it adds"));
    }
}

/// Two coroutines, each of which waits for the other's work, with whoever has called it.
struct Buffer {
    put: Flexible<u64, ()>,
    take: Flexible<(), u64>,
}

type Slot<T> = Arc<Mutex<Option<T>>>;

pub fn buffer(threads: u64) -> Vec<Contender> {
    vec![
        contender("leno", threads, || {
            let system = System::new();
            let values: Arc<Mutex<VecDeque<u64>>> = Arc::default();
            let taker: Slot<Flexible<(), u64>> = Arc::default();
            let (own, other) = (values.clone(), taker.clone());
            let put = system.create("put", move |me: &mut Me<u64, ()>| {
                let other = other.lock().expect("nobody panics").take().expect("it was made");
                loop {
                    let Some(n) = me.parameter() else {
                        me.detach(());
                        continue;
                    };
                    while own.lock().expect("nobody panics").len() == ROOM {
                        me.passivate();
                    }
                    own.lock().expect("nobody panics").push_back(n);
                    other.prod().expect("it stays");
                    me.detach(());
                }
            });
            let (own, other) = (values, put.clone());
            let take = system.create("take", move |me: &mut Me<(), u64>| {
                loop {
                    if me.parameter().is_none() {
                        me.detach(0);
                        continue;
                    }
                    while own.lock().expect("nobody panics").is_empty() {
                        me.passivate();
                    }
                    let n = own.lock().expect("nobody panics").pop_front().unwrap_or(0);
                    other.prod().expect("it stays");
                    me.detach(n);
                }
            });
            *taker.lock().expect("nobody panics") = Some(take.clone());
            Of { inner: Buffer { put, take }, _system: system }
        }),
        contender("leno threadless", threads, || {
            let system = Threadless::new();
            let values: Arc<Mutex<VecDeque<u64>>> = Arc::default();
            let taker: Slot<Flexible<(), u64>> = Arc::default();
            let (own, other) = (values.clone(), taker.clone());
            let put = system.create("put", |mut me: AsyncMe<u64, ()>| async move {
                let other = other.lock().expect("nobody panics").take().expect("it was made");
                loop {
                    let Some(n) = me.parameter() else {
                        me.detach(()).await;
                        continue;
                    };
                    while own.lock().expect("nobody panics").len() == ROOM {
                        me.passivate().await;
                    }
                    own.lock().expect("nobody panics").push_back(n);
                    other.prod().expect("it stays");
                    me.detach(()).await;
                }
            });
            let (own, other) = (values, put.clone());
            let take = system.create("take", |mut me: AsyncMe<(), u64>| async move {
                loop {
                    if me.parameter().is_none() {
                        me.detach(0).await;
                        continue;
                    }
                    while own.lock().expect("nobody panics").is_empty() {
                        me.passivate().await;
                    }
                    let n = own.lock().expect("nobody panics").pop_front().unwrap_or(0);
                    other.prod().expect("it stays");
                    me.detach(n).await;
                }
            });
            *taker.lock().expect("nobody panics") = Some(take.clone());
            Of { inner: Buffer { put, take }, _system: system }
        }),
    ]
}

impl<S: Send + Sync + 'static> Shared for Of<S, Buffer> {
    fn operate(&self, thread: usize, n: u64) {
        if thread.is_multiple_of(2) {
            self.inner.put.call(n).expect("it puts");
        } else {
            std::hint::black_box(self.inner.take.call(()).expect("it takes"));
        }
    }
}

/// Who enters waits with its call until nobody is in the way; who leaves lets it look.
struct Room {
    enter: Flexible<bool, ()>,
    leave: Flexible<bool, ()>,
}

/// How many readers are inside, and whether a writer is.
#[derive(Default)]
struct Inside(Mutex<(u64, bool)>);

impl Inside {
    fn enters(&self, is_writer: bool) -> bool {
        let mut inside = self.0.lock().expect("nobody panics");
        let may_enter = !(inside.1 || is_writer && inside.0 > 0);
        if may_enter {
            if is_writer { inside.1 = true } else { inside.0 += 1 }
        }
        may_enter
    }

    fn leaves(&self, is_writer: bool) {
        let mut inside = self.0.lock().expect("nobody panics");
        if is_writer { inside.1 = false } else { inside.0 -= 1 }
    }
}

pub fn readers(threads: u64) -> Vec<Contender> {
    vec![
        contender("leno", threads, || {
            let (system, inside) = (System::new(), Arc::new(Inside::default()));
            let own = inside.clone();
            let enter = system.create("enter", move |me: &mut Me<bool, ()>| {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        while !own.enters(is_writer) {
                            me.passivate();
                        }
                    }
                    me.detach(());
                }
            });
            let other = enter.clone();
            let leave = system.create("leave", move |me: &mut Me<bool, ()>| {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        inside.leaves(is_writer);
                        other.prod().expect("it stays");
                    }
                    me.detach(());
                }
            });
            Of { inner: Room { enter, leave }, _system: system }
        }),
        contender("leno threadless", threads, || {
            let (system, inside) = (Threadless::new(), Arc::new(Inside::default()));
            let own = inside.clone();
            let enter = system.create("enter", |mut me: AsyncMe<bool, ()>| async move {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        while !own.enters(is_writer) {
                            me.passivate().await;
                        }
                    }
                    me.detach(()).await;
                }
            });
            let other = enter.clone();
            let leave = system.create("leave", |mut me: AsyncMe<bool, ()>| async move {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        inside.leaves(is_writer);
                        other.prod().expect("it stays");
                    }
                    me.detach(()).await;
                }
            });
            Of { inner: Room { enter, leave }, _system: system }
        }),
    ]
}

impl<S: Send + Sync + 'static> Shared for Of<S, Room> {
    fn operate(&self, thread: usize, n: u64) {
        let is_writer = writes(thread, n);
        self.inner.enter.call(is_writer).expect("it enters");
        std::hint::black_box(n);
        self.inner.leave.call(is_writer).expect("it leaves");
    }
}
