//! leno in `flexible-call`, `-buffer` and `-readers`: on a home core, and without one, where bodies are futures or
//! have stacks that change threads; bodies written for the bench, and what the library offers for it
//! (`leno monitor`, `leno read-write`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use leno::flexible::synchroniser::ReadWrite;
use leno::flexible::synchroniser::monitor::{Method, Monitor, Request};
use leno::flexible::{AsyncMe, Flexible, Me, MigrantMe, System, Threadless};

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

/// What a coroutine does in its turns, however it is run.
trait Serve: Send + 'static {
    type Parameter: Send + 'static;
    type Answer: Send + 'static;

    /// It is active: with a new call, or because it was prodded.
    fn serve(&mut self, parameter: Option<Self::Parameter>) -> Leave<Self::Answer>;
}

/// How a turn ends.
enum Leave<R> {
    Detach(R),
    Passivate,
}

/// A system, of whatever kind.
trait Ground: Send + Sync + 'static {
    fn new() -> Self;

    fn create<S: Serve>(&self, name: &str, serve: S) -> Flexible<S::Parameter, S::Answer>;
}

impl Ground for System {
    fn new() -> Self {
        System::new()
    }

    fn create<S: Serve>(&self, name: &str, mut own: S) -> Flexible<S::Parameter, S::Answer> {
        self.create(name, move |me: &mut Me<_, _>| {
            loop {
                match own.serve(me.parameter()) {
                    Leave::Detach(answer) => me.detach(answer),
                    Leave::Passivate => me.passivate(),
                }
            }
        })
    }
}

impl Ground for Threadless {
    fn new() -> Self {
        Threadless::new()
    }

    fn create<S: Serve>(&self, name: &str, mut own: S) -> Flexible<S::Parameter, S::Answer> {
        self.create(name, |mut me: AsyncMe<_, _>| async move {
            loop {
                match own.serve(me.parameter()) {
                    Leave::Detach(answer) => me.detach(answer).await,
                    Leave::Passivate => me.passivate().await,
                }
            }
        })
    }
}

/// Without a home core, with stacks that change threads.
struct Migratable(Threadless);

impl Ground for Migratable {
    fn new() -> Self {
        Migratable(Threadless::new())
    }

    fn create<S: Serve>(&self, name: &str, mut own: S) -> Flexible<S::Parameter, S::Answer> {
        let body = move |me: &mut MigrantMe<_, _>| {
            loop {
                match own.serve(me.parameter()) {
                    Leave::Detach(answer) => me.detach(answer),
                    Leave::Passivate => me.passivate(),
                }
            }
        };
        // SAFETY: what serves may be sent, and nothing else is alive while the body waits.
        unsafe { self.0.create_migratable(name, body) }
    }
}

pub fn call(threads: u64) -> Vec<Contender> {
    fn sum<G: Ground>() -> Of<G, Sum> {
        let system = G::new();
        let sum = Sum(system.create("sum", Adds(0)));
        Of::new(system, sum)
    }
    vec![
        contender("leno", threads, sum::<System>),
        contender("leno threadless", threads, sum::<Threadless>),
        contender("leno migratable", threads, sum::<Migratable>),
    ]
}

/// Adds what it is called with.
struct Adds(u64);

impl Serve for Adds {
    type Parameter = u64;
    type Answer = u64;

    fn serve(&mut self, parameter: Option<u64>) -> Leave<u64> {
        self.0 += parameter.unwrap_or(0);
        Leave::Detach(self.0)
    }
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
    putter: OnceLock<Flexible<u64, ()>>,
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

fn prod<P, R>(other: &OnceLock<Flexible<P, R>>) {
    other.get().expect("it was made").prod().expect("it stays");
}

/// Puts what it is called with, when there is room.
struct Puts {
    store: Arc<Store>,
    waiting: Option<u64>,
}

impl Serve for Puts {
    type Parameter = u64;
    type Answer = ();

    fn serve(&mut self, parameter: Option<u64>) -> Leave<()> {
        let was_woken = parameter.is_none();
        self.waiting = parameter.or(self.waiting);
        let Some(n) = self.waiting else { return Leave::Detach(()) };
        let mut state = self.store.state.lock().expect("nobody panics");
        state.putter_waits = state.values.len() == ROOM;
        if state.putter_waits {
            was_woken.then(|| self.store.in_vain.count());
            return Leave::Passivate;
        }
        state.values.push_back(n);
        let is_awaited = core::mem::take(&mut state.taker_waits);
        drop(state);
        self.waiting = None;
        is_awaited.then(|| prod(&self.store.taker));
        Leave::Detach(())
    }
}

/// Takes one, when there is one.
struct Takes {
    store: Arc<Store>,
    is_waiting: bool,
}

impl Serve for Takes {
    type Parameter = ();
    type Answer = u64;

    fn serve(&mut self, parameter: Option<()>) -> Leave<u64> {
        let was_woken = parameter.is_none();
        self.is_waiting |= !was_woken;
        if !self.is_waiting {
            return Leave::Detach(0);
        }
        let mut state = self.store.state.lock().expect("nobody panics");
        let taken = state.values.pop_front();
        state.taker_waits = taken.is_none();
        let Some(taken) = taken else {
            was_woken.then(|| self.store.in_vain.count());
            return Leave::Passivate;
        };
        let is_awaited = core::mem::take(&mut state.putter_waits);
        drop(state);
        self.is_waiting = false;
        is_awaited.then(|| prod(&self.store.putter));
        Leave::Detach(taken)
    }
}

pub fn buffer(threads: u64) -> Vec<Contender> {
    fn both<G: Ground>() -> Of<G, Buffer> {
        let (system, store) = (G::new(), Arc::new(Store::default()));
        let put = system.create("put", Puts { store: store.clone(), waiting: None });
        let take = system.create("take", Takes { store: store.clone(), is_waiting: false });
        let _ = store.putter.set(put.clone());
        let _ = store.taker.set(take.clone());
        let in_vain = Some(store.in_vain.clone());
        Of { in_vain, ..Of::new(system, Buffer { put, take }) }
    }
    vec![
        contender("leno", threads, both::<System>),
        contender("leno threadless", threads, both::<Threadless>),
        contender("leno migratable", threads, both::<Migratable>),
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

impl Counts {
    fn is_free(&self, is_writer: bool) -> bool {
        !(self.is_writing || is_writer && self.readers > 0)
    }

    fn enter(&mut self, is_writer: bool) {
        match is_writer {
            true => self.is_writing = true,
            false => self.readers += 1,
        }
    }

    /// Whether whoever waits may enter now.
    fn leave(&mut self, is_writer: bool) -> bool {
        match is_writer {
            true => self.is_writing = false,
            false => self.readers -= 1,
        }
        self.readers == 0 && core::mem::take(&mut self.is_awaited)
    }
}

/// Lets one enter, when nobody is in the way.
struct Enters {
    inside: Arc<Inside>,
    /// Whether who waits is a writer.
    waiting: Option<bool>,
    /// Whether it only keeps waiting whoever could not enter, and then has it look again.
    is_gate: bool,
}

impl Serve for Enters {
    type Parameter = bool;
    type Answer = ();

    fn serve(&mut self, parameter: Option<bool>) -> Leave<()> {
        let was_woken = parameter.is_none();
        self.waiting = parameter.or(self.waiting);
        let Some(is_writer) = self.waiting else { return Leave::Detach(()) };
        let mut counts = self.inside.counts.lock().expect("nobody panics");
        counts.is_awaited = !counts.is_free(is_writer);
        if counts.is_awaited {
            was_woken.then(|| self.inside.in_vain.count());
            return Leave::Passivate;
        }
        if !self.is_gate {
            counts.enter(is_writer);
        }
        self.waiting = None;
        Leave::Detach(())
    }
}

/// Lets one leave, and whoever waits look again, if that one may enter now.
struct Leaves {
    inside: Arc<Inside>,
    enter: Flexible<bool, ()>,
}

impl Serve for Leaves {
    type Parameter = bool;
    type Answer = ();

    fn serve(&mut self, parameter: Option<bool>) -> Leave<()> {
        let Some(is_writer) = parameter else { return Leave::Detach(()) };
        let is_awaited = self.inside.counts.lock().expect("nobody panics").leave(is_writer);
        is_awaited.then(|| self.enter.prod().expect("it stays"));
        Leave::Detach(())
    }
}

pub fn readers(threads: u64) -> Vec<Contender> {
    fn room<G: Ground>() -> Of<G, Room> {
        let (system, inside) = (G::new(), Arc::new(Inside::default()));
        let enters = Enters { inside: inside.clone(), waiting: None, is_gate: false };
        let enter = system.create("enter", enters);
        let leave = system.create("leave", Leaves { inside: inside.clone(), enter: enter.clone() });
        let in_vain = Some(inside.in_vain.clone());
        Of { in_vain, ..Of::new(system, Room { enter, leave }) }
    }
    vec![
        contender("leno", threads, room::<System>),
        contender("leno threadless", threads, room::<Threadless>),
        contender("leno migratable", threads, room::<Migratable>),
        contender("leno gate", threads, || {
            let (system, inside) = (<Threadless as Ground>::new(), Arc::new(Inside::default()));
            let waits = Enters { inside: inside.clone(), waiting: None, is_gate: true };
            let waits = Ground::create(&system, "gate", waits);
            let in_vain = Some(inside.in_vain.clone());
            Of { in_vain, ..Of::new(system, Gate { inside, waits }) }
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

/// As with a lock and a condition: who enters looks, and calls only if it has to wait; then it looks again.
struct Gate {
    inside: Arc<Inside>,
    waits: Flexible<bool, ()>,
}

impl Operate for Gate {
    fn operate(&self, thread: usize, n: u64) {
        let is_writer = writes(thread, n);
        loop {
            let mut counts = self.inside.counts.lock().expect("nobody panics");
            if counts.is_free(is_writer) {
                break counts.enter(is_writer);
            }
            drop(counts);
            self.waits.call(is_writer).expect("it waits");
        }
        std::hint::black_box(n);
        let is_awaited = self.inside.counts.lock().expect("nobody panics").leave(is_writer);
        is_awaited.then(|| self.waits.prod().expect("it stays"));
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
