//! Workloads of the kind that actor systems are compared by, each with a result that must come out.
//!
//! Each gets a system and a size, and says how many operations it was: messages, meals, meetings.
//! Whoever includes this file has `kernel` and `layer`: the kernel and the layer of processes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

#[path = "ring.rs"]
pub(crate) mod ring;

use super::{kernel, layer};
use kernel::yield_now;
use layer::{Condition, Me, Monitor, Plan, Semaphore, System, process};
use ring::{passes, ring};

/// A workload.
pub(crate) type Workload = fn(System, u32) -> u64;

/// Each with its name, and its size in a test.
pub(crate) const ALL: &[(&str, Workload, u32)] = &[
    ("ping-pong", ping_pong, 300),
    ("thread-ring", thread_ring, 1042),
    ("counting", counting, 10_000),
    ("fork-join", fork_join_throughput, 50),
    ("chameneos", chameneos, 200),
    ("philosophers", philosophers, 40),
    ("bounded-buffer", bounded_buffer, 50),
    ("sleeping-barber", sleeping_barber, 50),
    ("cigarette-smokers", cigarette_smokers, 30),
    ("banking", banking_conserves_money, 100),
    ("sieve", sieve, 300),
    ("fibonacci", fibonacci, 11),
];

/// Ends a system in which nobody has failed.
fn finish(system: System) {
    let ended = system.run().unwrap();
    assert!(ended.failures.is_empty(), "{:?}", ended.failures);
}

struct Pong(u32);

#[process]
impl Pong {
    #[entry]
    fn ping(&mut self, n: u32) -> u32 {
        self.0 += 1;
        n + 1
    }

    #[entry]
    fn served(&mut self) -> u32 {
        self.0
    }
}

struct Ping(PongRef, u32);

#[process]
impl Ping {
    #[entry]
    fn play(&mut self) -> u32 {
        (0..self.1).fold(0, |n, _| self.0.ping(n).unwrap().wait().unwrap())
    }
}

pub(crate) fn ping_pong(system: System, size: u32) -> u64 {
    let pong = system.start(Pong(0));
    let ping = system.start(Ping(pong.clone(), size));
    assert_eq!(ping.play().unwrap().wait(), Ok(size));
    assert_eq!(pong.served().unwrap().wait(), Ok(size));
    finish(system);
    u64::from(size)
}

pub(crate) fn thread_ring(system: System, size: u32) -> u64 {
    let members = ring(&system, 100);
    members[0].pass(size).unwrap();
    system.wait_idle().unwrap();
    assert_eq!(passes(&members), size + 1);
    assert!(members[size as usize % 100].state().unwrap().wait().unwrap().1);
    finish(system);
    u64::from(size)
}

#[derive(Default)]
struct Counter(u64);

#[process]
impl Counter {
    #[entry]
    fn increment(&mut self) {
        self.0 += 1;
    }

    #[entry]
    fn count(&mut self) -> u64 {
        self.0
    }
}

/// Gives counters something to count.
struct Producer(Vec<CounterRef>);

#[process]
impl Producer {
    /// Calls each so many times; says what they have counted.
    #[entry]
    fn produce(&mut self, times: u32) -> u64 {
        for _ in 0..times {
            self.0.iter().for_each(|counter| counter.increment().unwrap());
        }
        let replies: Vec<_> = self.0.iter().map(|counter| counter.count().unwrap()).collect();
        replies.into_iter().map(|reply| reply.wait().unwrap()).sum()
    }
}

/// As many counters, each called `size` times by one producer.
fn produce(system: System, counters: u32, size: u32) -> u64 {
    let all = (0..counters).map(|_| system.start(Counter::default())).collect();
    let counted = system.start(Producer(all)).produce(size).unwrap().wait().unwrap();
    assert_eq!(counted, u64::from(counters) * u64::from(size));
    finish(system);
    counted
}

pub(crate) fn counting(system: System, size: u32) -> u64 {
    produce(system, 1, size)
}

pub(crate) fn fork_join_throughput(system: System, size: u32) -> u64 {
    produce(system, 60, size)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Colour {
    Blue,
    Red,
    Yellow,
}

impl Colour {
    fn after(self, other: Colour) -> Colour {
        use Colour::{Blue, Red, Yellow};
        if self == other {
            return self;
        }
        [Blue, Red, Yellow].into_iter().find(|third| *third != self && *third != other).unwrap()
    }
}

/// Where two meet.
struct Mall {
    left: u32,
    waiting: Option<(ChameneosRef, Colour)>,
}

#[process]
impl Mall {
    #[entry]
    fn meet(&mut self, who: ChameneosRef, colour: Colour) {
        if self.left == 0 {
            return who.leave().unwrap();
        }
        match self.waiting.take() {
            None => self.waiting = Some((who, colour)),
            Some((other, others)) => {
                self.left -= 1;
                other.met(colour).unwrap();
                who.met(others).unwrap();
                if self.left == 0 {
                    // Whoever waits from now on would wait for ever.
                    self.waiting = None;
                }
            }
        }
    }
}

struct Chameneos {
    colour: Colour,
    meetings: u32,
    mall: MallRef,
    has_left: bool,
}

#[process]
impl Chameneos {
    #[body]
    fn begin(&mut self, me: &Me<Self>) {
        self.mall.meet(me.address().unwrap(), self.colour).unwrap();
    }

    #[entry]
    fn met(&mut self, me: &Me<Self>, other: Colour) {
        self.colour = self.colour.after(other);
        self.meetings += 1;
        self.mall.meet(me.address().unwrap(), self.colour).unwrap();
    }

    #[entry]
    fn leave(&mut self) {
        self.has_left = true;
    }

    #[entry]
    fn meetings(&mut self) -> u32 {
        self.meetings
    }
}

pub(crate) fn chameneos(system: System, size: u32) -> u64 {
    let mall = system.start(Mall { left: size, waiting: None });
    let colours = [Colour::Blue, Colour::Red, Colour::Yellow, Colour::Blue];
    let all = colours.map(|colour| {
        let mall = mall.clone();
        system.start(Chameneos { colour, meetings: 0, mall, has_left: false })
    });
    system.wait_idle().unwrap();
    let meetings: u32 = all.iter().map(|one| one.meetings().unwrap().wait().unwrap()).sum();
    assert_eq!(meetings, 2 * size, "each meeting is one of two");
    finish(system);
    u64::from(size)
}

/// Serves forks; a philosopher gets both or waits.
struct Table {
    taken: Vec<bool>,
}

#[process]
impl Table {
    #[entry(when = !self.taken[*seat] && !self.taken[(*seat + 1) % self.taken.len()])]
    fn take(&mut self, seat: usize) -> usize {
        let right = (seat + 1) % self.taken.len();
        assert!(!self.taken[seat] && !self.taken[right]);
        (self.taken[seat], self.taken[right]) = (true, true);
        seat
    }

    #[entry]
    fn put(&mut self, seat: usize) {
        let right = (seat + 1) % self.taken.len();
        (self.taken[seat], self.taken[right]) = (false, false);
    }
}

struct Philosopher {
    seat: usize,
    table: TableRef,
    meals: u32,
}

#[process]
impl Philosopher {
    #[entry]
    fn dine(&mut self, meals: u32) -> u32 {
        for _ in 0..meals {
            self.table.take(self.seat).unwrap().wait().unwrap();
            yield_now();
            self.meals += 1;
            self.table.put(self.seat).unwrap();
        }
        self.meals
    }
}

pub(crate) fn philosophers(system: System, size: u32) -> u64 {
    let table = system.start(Table { taken: vec![false; 5] });
    let meals: Vec<_> = (0..5)
        .map(|seat| system.start(Philosopher { seat, table: table.clone(), meals: 0 }))
        .map(|philosopher| philosopher.dine(size).unwrap())
        .collect();
    assert_eq!(meals.into_iter().map(|meals| meals.wait().unwrap()).sum::<u32>(), 5 * size);
    finish(system);
    5 * u64::from(size)
}

/// Holds three.
#[derive(Default)]
struct Buffer(VecDeque<u32>);

#[process]
impl Buffer {
    #[entry(when = self.0.len() < 3)]
    fn put(&mut self, n: u32) -> usize {
        self.0.push_back(n);
        assert!(self.0.len() <= 3);
        self.0.len()
    }

    #[entry(when = !self.0.is_empty())]
    fn get(&mut self) -> u32 {
        self.0.pop_front().expect("the guard has seen one")
    }
}

pub(crate) fn bounded_buffer(system: System, size: u32) -> u64 {
    struct Producer(BufferRef);
    #[process]
    impl Producer {
        #[entry]
        fn produce(&mut self, times: u32) {
            for n in 1..=times {
                self.0.put(n).unwrap().wait().unwrap();
            }
        }
    }
    struct Consumer(BufferRef);
    #[process]
    impl Consumer {
        #[entry]
        fn consume(&mut self, times: u32) -> u64 {
            (0..times).map(|_| u64::from(self.0.get().unwrap().wait().unwrap())).sum()
        }
    }
    let buffer = system.start(Buffer::default());
    let eaten: Vec<_> =
        (0..2).map(|_| system.start(Consumer(buffer.clone())).consume(size).unwrap()).collect();
    for _ in 0..2 {
        system.start(Producer(buffer.clone())).produce(size).unwrap();
    }
    let eaten: u64 = eaten.into_iter().map(|eaten| eaten.wait().unwrap()).sum();
    assert_eq!(eaten, u64::from(size) * (u64::from(size) + 1));
    finish(system);
    2 * u64::from(size)
}

/// A waiting room with three chairs.
#[derive(Default)]
struct Shop {
    waiting: u32,
    cut: u32,
    turned_away: u32,
    is_closed: bool,
}

pub(crate) fn sleeping_barber(system: System, size: u32) -> u64 {
    struct Barber(Arc<(Monitor<Shop>, Condition)>);
    #[process]
    impl Barber {
        #[body]
        fn work(&mut self) {
            let (shop, came) = &*self.0;
            loop {
                let goes_on = shop.enter(|shop| {
                    shop.wait_while(came, |shop| shop.waiting == 0 && !shop.is_closed).unwrap();
                    let has_one = shop.waiting > 0;
                    shop.waiting -= u32::from(has_one);
                    shop.cut += u32::from(has_one);
                    has_one
                });
                if !goes_on.unwrap() {
                    return;
                }
                yield_now();
            }
        }
    }
    struct Customers(Arc<(Monitor<Shop>, Condition)>);
    #[process]
    impl Customers {
        #[entry]
        fn come(&mut self, times: u32) -> u32 {
            let (shop, came) = &*self.0;
            for _ in 0..times {
                let came_in = shop.enter(|shop| {
                    if shop.waiting == 3 {
                        shop.turned_away += 1;
                    } else {
                        shop.waiting += 1;
                        came.signal();
                    }
                });
                came_in.unwrap();
                yield_now();
            }
            times
        }
    }
    let shop = Arc::new((Monitor::new(Shop::default()), Condition::new()));
    system.start(Barber(shop.clone()));
    let customers: Vec<_> =
        (0..4).map(|_| system.start(Customers(shop.clone())).come(size)).collect();
    let came: u32 = customers.into_iter().map(|came| came.unwrap().wait().unwrap()).sum();
    let closed = shop.0.enter(|shop| {
        shop.is_closed = true;
    });
    closed.unwrap();
    shop.1.signal_all();
    finish(system);
    let (cut, turned_away) = shop.0.enter(|shop| (shop.cut, shop.turned_away)).unwrap();
    assert_eq!(cut + turned_away, came);
    assert!(cut > 0);
    u64::from(came)
}

pub(crate) fn cigarette_smokers(system: System, size: u32) -> u64 {
    /// Has one ingredient, and smokes when the two others are on the table.
    struct Smoker {
        turn: Arc<Semaphore>,
        table_is_free: Arc<Semaphore>,
        smoked: u32,
    }
    #[process]
    impl Smoker {
        #[entry]
        fn smoke(&mut self, times: u32) -> u32 {
            for _ in 0..times {
                self.turn.wait().unwrap();
                self.smoked += 1;
                self.table_is_free.signal();
            }
            self.smoked
        }
    }
    struct Agent {
        turns: Vec<Arc<Semaphore>>,
        table_is_free: Arc<Semaphore>,
    }
    #[process]
    impl Agent {
        #[entry]
        fn deal(&mut self, rounds: usize) {
            for round in 0..rounds {
                self.table_is_free.wait().unwrap();
                self.turns[round % 3].signal();
            }
        }
    }
    let table_is_free = Arc::new(Semaphore::new(1));
    let turns: Vec<_> = (0..3).map(|_| Arc::new(Semaphore::new(0))).collect();
    let smoked: Vec<_> = turns
        .iter()
        .map(|turn| {
            let (turn, table_is_free) = (turn.clone(), table_is_free.clone());
            system.start(Smoker { turn, table_is_free, smoked: 0 }).smoke(size).unwrap()
        })
        .collect();
    system.start(Agent { turns, table_is_free }).deal(3 * size as usize).unwrap();
    assert_eq!(
        smoked.into_iter().map(|smoked| smoked.wait().unwrap()).collect::<Vec<_>>(),
        [size; 3]
    );
    finish(system);
    3 * u64::from(size)
}

struct Account(i64);

#[process]
impl Account {
    #[entry]
    fn deposit(&mut self, amount: i64) -> i64 {
        self.0 += amount;
        self.0
    }

    #[entry(when = self.0 >= *amount)]
    fn withdraw(&mut self, amount: i64) -> i64 {
        self.0 -= amount;
        amount
    }

    #[entry]
    fn balance(&mut self) -> i64 {
        self.0
    }
}

pub(crate) fn banking_conserves_money(system: System, size: u32) -> u64 {
    struct Teller(Vec<AccountRef>, u64);
    #[process]
    impl Teller {
        #[entry]
        fn transfer(&mut self, times: u32) {
            for _ in 0..times {
                self.1 = self.1.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let all = self.0.len() as u64;
                let (from, to) = ((self.1 >> 33) % all, (self.1 >> 43) % all);
                let amount = (self.1 >> 60) as i64;
                let amount = self.0[from as usize].withdraw(amount).unwrap().wait().unwrap();
                self.0[to as usize].deposit(amount).unwrap().wait().unwrap();
            }
        }
    }
    let accounts: Vec<_> = (0..10)
        .map(|n| system.start_with(Plan::new().name(format!("account {n}")), Account(1000)))
        .collect();
    for seed in 0..4 {
        system.start(Teller(accounts.clone(), seed)).transfer(size).unwrap();
    }
    system.wait_idle().unwrap();
    let balances: Vec<_> = accounts.iter().map(|one| one.balance().unwrap()).collect();
    assert_eq!(balances.into_iter().map(|one| one.wait().unwrap()).sum::<i64>(), 10_000);
    finish(system);
    4 * u64::from(size)
}

/// Keeps one prime, and passes on what that does not divide.
struct Sieve {
    prime: Option<u64>,
    next: Option<SieveRef>,
    found: Arc<Mutex<Vec<u64>>>,
}

#[process]
impl Sieve {
    #[entry]
    fn number(&mut self, me: &Me<Self>, n: u64) {
        let Some(prime) = self.prime else {
            self.prime = Some(n);
            return self.found.lock().unwrap().push(n);
        };
        if n.is_multiple_of(prime) {
            return;
        }
        let found = &self.found;
        let next = self.next.get_or_insert_with(|| {
            me.start(Plan::new(), Sieve { prime: None, next: None, found: found.clone() })
        });
        next.number(n).unwrap();
    }
}

/// Where the numbers come from.
struct Numbers(SieveRef);

#[process]
impl Numbers {
    #[entry]
    fn below(&mut self, size: u64) {
        (2..size).for_each(|n| self.0.number(n).unwrap());
    }
}

pub(crate) fn sieve(system: System, size: u32) -> u64 {
    let found = Arc::new(Mutex::new(Vec::new()));
    let first = system.start(Sieve { prime: None, next: None, found: found.clone() });
    system.start(Numbers(first)).below(u64::from(size)).unwrap();
    finish(system);
    let is_prime = |n: &u64| (2..*n).all(|by| !n.is_multiple_of(by));
    let primes: Vec<u64> = (2..u64::from(size)).filter(is_prime).collect();
    assert_eq!(*found.lock().unwrap(), primes);
    u64::from(size)
}

struct Fib;

#[process]
impl Fib {
    #[entry]
    fn of(&mut self, me: &Me<Self>, n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let parts = [n - 1, n - 2].map(|n| me.start(Plan::new(), Fib).of(n).unwrap());
        parts.into_iter().map(|part| part.wait().unwrap()).sum()
    }
}

pub(crate) fn fibonacci(system: System, size: u32) -> u64 {
    let (below, fib) = (0..size).fold((0, 1), |(a, b), _| (b, a + b));
    assert_eq!(system.start(Fib).of(size).unwrap().wait(), Ok(below));
    finish(system);
    fib
}
