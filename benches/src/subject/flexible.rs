//! leno in `flexible-call`, `-buffer` and `-readers`: on a home core, and without one; bodies written for the
//! bench, and what the library offers for it (`leno monitor`, `leno read-write`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use leno::flexible::synchroniser::ReadWrite;
use leno::flexible::synchroniser::monitor::{Method, Monitor, Request};
use leno::flexible::{AsyncMe, Flexible, Me, System, Threadless};

use crate::bench::flexible::buffer::ROOM;
use crate::bench::flexible::readers::writes;
use crate::bench::flexible::{InVain, Shared, contender};
use crate::contender::Contender;

/// Something of a system, which lives as long.
struct Of<S, T> {
    inner: T,
    in_vain: Option<Arc<InVain>>,
    _system: S,
}

impl<S, T> Of<S, T> {
    fn new(system: S, inner: T) -> Self {
        Self { inner, in_vain: None, _system: system }
    }
}

impl<S: Send + Sync + 'static, T: Operate> Shared for Of<S, T> {
    fn operate(&self, thread: usize, n: u64) {
        self.inner.operate(thread, n);
    }

    fn in_vain(&self) -> Option<u64> {
        self.in_vain.as_ref()?.get()
    }
}

trait Operate: Send + Sync + 'static {
    fn operate(&self, thread: usize, n: u64);
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
            Of::new(system, Sum(sum))
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
            Of::new(system, Sum(sum))
        }),
    ]
}

struct Sum(Flexible<u64, u64>);

impl Operate for Sum {
    fn operate(&self, _: usize, n: u64) {
        std::hint::black_box(self.0.call(n).expect("it adds"));
    }
}

/// Two coroutines, each of which waits for the other's work, with whoever has called it.
struct Buffer {
    put: Flexible<u64, ()>,
    take: Flexible<(), u64>,
}

/// What both of them know. Only one of them is active at a time, so it is never waited for.
#[derive(Default)]
struct Store {
    state: Mutex<Stored>,
    taker: OnceLock<Flexible<(), u64>>,
    in_vain: Arc<InVain>,
}

#[derive(Default)]
struct Stored {
    values: VecDeque<u64>,
    /// Whether somebody waits for room, and for a value: nobody else is prodded.
    putter_waits: bool,
    taker_waits: bool,
}

impl Store {
    /// Puts it, if there is room; then, whether somebody waits for it.
    fn put(&self, n: u64) -> Option<bool> {
        let mut state = self.state.lock().expect("nobody panics");
        state.putter_waits = state.values.len() == ROOM;
        if state.putter_waits {
            return None;
        }
        state.values.push_back(n);
        Some(core::mem::take(&mut state.taker_waits))
    }

    /// Takes one, if there is one; and whether somebody waits for room.
    fn take(&self) -> Option<(u64, bool)> {
        let mut state = self.state.lock().expect("nobody panics");
        let taken = state.values.pop_front();
        state.taker_waits = taken.is_none();
        taken.map(|taken| (taken, core::mem::take(&mut state.putter_waits)))
    }

    fn prod_taker(&self) {
        self.taker.get().expect("it was made").prod().expect("it stays");
    }
}

pub fn buffer(threads: u64) -> Vec<Contender> {
    vec![
        contender("leno", threads, || {
            let (system, store) = (System::new(), Arc::new(Store::default()));
            let own = store.clone();
            let put = system.create("put", move |me: &mut Me<u64, ()>| {
                loop {
                    if let Some(n) = me.parameter() {
                        let mut was_woken = false;
                        let is_awaited = loop {
                            if let Some(is_awaited) = own.put(n) {
                                break is_awaited;
                            }
                            was_woken.then(|| own.in_vain.count());
                            me.passivate();
                            was_woken = true;
                        };
                        is_awaited.then(|| own.prod_taker());
                    }
                    me.detach(());
                }
            });
            let (own, other) = (store.clone(), put.clone());
            let take = system.create("take", move |me: &mut Me<(), u64>| {
                loop {
                    let mut taken = 0;
                    if me.parameter().is_some() {
                        let mut was_woken = false;
                        let is_awaited;
                        (taken, is_awaited) = loop {
                            if let Some(both) = own.take() {
                                break both;
                            }
                            was_woken.then(|| own.in_vain.count());
                            me.passivate();
                            was_woken = true;
                        };
                        is_awaited.then(|| other.prod().expect("it stays"));
                    }
                    me.detach(taken);
                }
            });
            let _ = store.taker.set(take.clone());
            let in_vain = Some(store.in_vain.clone());
            Of { in_vain, ..Of::new(system, Buffer { put, take }) }
        }),
        contender("leno threadless", threads, || {
            let (system, store) = (Threadless::new(), Arc::new(Store::default()));
            let own = store.clone();
            let put = system.create("put", |mut me: AsyncMe<u64, ()>| async move {
                loop {
                    if let Some(n) = me.parameter() {
                        let mut was_woken = false;
                        let is_awaited = loop {
                            if let Some(is_awaited) = own.put(n) {
                                break is_awaited;
                            }
                            was_woken.then(|| own.in_vain.count());
                            me.passivate().await;
                            was_woken = true;
                        };
                        is_awaited.then(|| own.prod_taker());
                    }
                    me.detach(()).await;
                }
            });
            let (own, other) = (store.clone(), put.clone());
            let take = system.create("take", |mut me: AsyncMe<(), u64>| async move {
                loop {
                    let mut taken = 0;
                    if me.parameter().is_some() {
                        let mut was_woken = false;
                        let is_awaited;
                        (taken, is_awaited) = loop {
                            if let Some(both) = own.take() {
                                break both;
                            }
                            was_woken.then(|| own.in_vain.count());
                            me.passivate().await;
                            was_woken = true;
                        };
                        is_awaited.then(|| other.prod().expect("it stays"));
                    }
                    me.detach(taken).await;
                }
            });
            let _ = store.taker.set(take.clone());
            let in_vain = Some(store.in_vain.clone());
            Of { in_vain, ..Of::new(system, Buffer { put, take }) }
        }),
        contender("leno monitor", threads, || {
            let system = Threadless::new();
            let may_run = |values: &VecDeque<u64>, waiting: &[Request]| {
                waiting.iter().position(|own| match own.method() {
                    "put" => values.len() < ROOM,
                    _ => !values.is_empty(),
                })
            };
            let monitor = Monitor::with_scheduler(&system, "buffer", VecDeque::new(), may_run);
            let put = monitor.method("put", |values, n: u64| values.push_back(n));
            let take = monitor.method("take", |values, ()| values.pop_front().unwrap_or(0));
            Of::new(system, Methods { put, take })
        }),
    ]
}

impl Operate for Buffer {
    fn operate(&self, thread: usize, n: u64) {
        if thread.is_multiple_of(2) {
            self.put.call(n).expect("it puts");
        } else {
            std::hint::black_box(self.take.call(()).expect("it takes"));
        }
    }
}

/// The same as methods of a monitor.
struct Methods {
    put: Method<u64, ()>,
    take: Method<(), u64>,
}

impl Operate for Methods {
    fn operate(&self, thread: usize, n: u64) {
        if thread.is_multiple_of(2) {
            self.put.call(n).expect("it puts");
        } else {
            std::hint::black_box(self.take.call(()).expect("it takes"));
        }
    }
}

/// Who enters waits with its call until nobody is in the way; who leaves lets it look.
struct Room {
    enter: Flexible<bool, ()>,
    leave: Flexible<bool, ()>,
}

/// Who is inside. Only one coroutine is active at a time, so it is never waited for.
#[derive(Default)]
struct Inside {
    counts: Mutex<Counts>,
    in_vain: Arc<InVain>,
}

#[derive(Default)]
struct Counts {
    readers: u64,
    is_writing: bool,
    /// Whether somebody waits to enter.
    is_awaited: bool,
}

impl Inside {
    fn enters(&self, is_writer: bool) -> bool {
        let mut inside = self.counts.lock().expect("nobody panics");
        inside.is_awaited = inside.is_writing || is_writer && inside.readers > 0;
        if inside.is_awaited {
            return false;
        }
        if is_writer {
            inside.is_writing = true
        } else {
            inside.readers += 1
        }
        true
    }

    /// Whether somebody waits, and may enter now.
    fn leaves(&self, is_writer: bool) -> bool {
        let mut inside = self.counts.lock().expect("nobody panics");
        if is_writer {
            inside.is_writing = false
        } else {
            inside.readers -= 1
        }
        inside.readers == 0 && core::mem::take(&mut inside.is_awaited)
    }
}

pub fn readers(threads: u64) -> Vec<Contender> {
    vec![
        contender("leno", threads, || {
            let (system, inside) = (System::new(), Arc::new(Inside::default()));
            let (own, in_vain) = (inside.clone(), Some(inside.in_vain.clone()));
            let enter = system.create("enter", move |me: &mut Me<bool, ()>| {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        let mut was_woken = false;
                        while !own.enters(is_writer) {
                            was_woken.then(|| own.in_vain.count());
                            me.passivate();
                            was_woken = true;
                        }
                    }
                    me.detach(());
                }
            });
            let other = enter.clone();
            let leave = system.create("leave", move |me: &mut Me<bool, ()>| {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        let is_awaited = inside.leaves(is_writer);
                        is_awaited.then(|| other.prod().expect("it stays"));
                    }
                    me.detach(());
                }
            });
            Of { in_vain, ..Of::new(system, Room { enter, leave }) }
        }),
        contender("leno threadless", threads, || {
            let (system, inside) = (Threadless::new(), Arc::new(Inside::default()));
            let (own, in_vain) = (inside.clone(), Some(inside.in_vain.clone()));
            let enter = system.create("enter", |mut me: AsyncMe<bool, ()>| async move {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        let mut was_woken = false;
                        while !own.enters(is_writer) {
                            was_woken.then(|| own.in_vain.count());
                            me.passivate().await;
                            was_woken = true;
                        }
                    }
                    me.detach(()).await;
                }
            });
            let other = enter.clone();
            let leave = system.create("leave", |mut me: AsyncMe<bool, ()>| async move {
                loop {
                    if let Some(is_writer) = me.parameter() {
                        let is_awaited = inside.leaves(is_writer);
                        is_awaited.then(|| other.prod().expect("it stays"));
                    }
                    me.detach(()).await;
                }
            });
            Of { in_vain, ..Of::new(system, Room { enter, leave }) }
        }),
        contender("leno read-write", threads, || {
            let system = Threadless::new();
            let value = ReadWrite::new(&system, "value", 0);
            Of::new(system, Locked(value))
        }),
    ]
}

impl Operate for Room {
    fn operate(&self, thread: usize, n: u64) {
        let is_writer = writes(thread, n);
        self.enter.call(is_writer).expect("it enters");
        std::hint::black_box(n);
        self.leave.call(is_writer).expect("it leaves");
    }
}

/// The library's own.
struct Locked(ReadWrite<u64>);

impl Operate for Locked {
    fn operate(&self, thread: usize, n: u64) {
        if writes(thread, n) {
            *self.0.write().expect("it enters") += n;
        } else {
            std::hint::black_box(*self.0.read().expect("it enters"));
        }
    }
}
