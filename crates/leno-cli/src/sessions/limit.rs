//! So many per second and client, and so many from all together, and no more.
//!
//! A client is an address; with IPv6 a network of 64 bits, which one user has to himself. Those of whom nothing is
//! remembered could not be told from those who have been away: a client is forgotten once its buckets are full. When more
//! are busy than are remembered, the rest are one client, so neither memory nor the others' share can be taken by many.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// How many per second, and how many at once after a pause.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    pub(super) burst: f64,
}

/// A bucket: it holds a burst at most, and as many flow in per second as the rate says.
#[derive(Clone, Copy)]
struct Bucket {
    rate: Rate,
    level: f64,
    since: Instant,
}

impl Bucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Bucket { rate, level: rate.burst, since: now }
    }

    fn fill(&mut self, now: Instant) {
        let time = now.saturating_duration_since(self.since).as_secs_f64();
        self.level = (self.level + self.rate.per_second * time).min(self.rate.burst);
        self.since = now;
    }

    fn has_one(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level >= 1.0
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level >= self.rate.burst
    }
}

/// A limit for each client, and one for all of them.
pub(super) struct Limit {
    each: Rate,
    most: usize,
    state: RefCell<State>,
}

struct State {
    all: Bucket,
    clients: HashMap<IpAddr, Bucket>,
    /// Those who are not remembered one by one.
    others: Bucket,
}

impl Limit {
    /// So many for each client and for all, and so many clients remembered.
    pub(super) fn new(each: Rate, all: Rate, most: usize) -> Self {
        let now = Instant::now();
        let (all, others) = (Bucket::full(all, now), Bucket::full(each, now));
        Limit { each, most, state: RefCell::new(State { all, clients: HashMap::new(), others }) }
    }

    /// Takes one for this client, if it and all together may have one.
    pub(super) fn take(&self, client: IpAddr) -> bool {
        self.take_at(client, Instant::now())
    }

    fn take_at(&self, client: IpAddr, now: Instant) -> bool {
        let state = &mut *self.state.borrow_mut();
        let client = network(client);
        if !state.clients.contains_key(&client) && state.clients.len() >= self.most {
            state.clients.retain(|_, bucket| !bucket.is_full(now));
        }
        let own = if state.clients.contains_key(&client) || state.clients.len() < self.most {
            state.clients.entry(client).or_insert_with(|| Bucket::full(self.each, now))
        } else {
            &mut state.others
        };
        // Who has none left takes nothing from the others' share.
        let is_there = own.has_one(now) && state.all.has_one(now);
        if is_there {
            own.level -= 1.0;
            state.all.level -= 1.0;
        }
        is_there
    }
}

/// What one user has for an address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Rate, network};
    use std::net::IpAddr;
    use std::time::{Duration, Instant};

    const EACH: Rate = Rate { per_second: 2.0, burst: 3.0 };
    const MANY: Rate = Rate { per_second: 1000.0, burst: 1000.0 };

    fn client(n: u8) -> IpAddr {
        [127, 0, 0, n].into()
    }

    /// How many of ten it gets at this time.
    fn taken(limit: &Limit, client: IpAddr, at: Instant) -> usize {
        (0..10).filter(|_| limit.take_at(client, at)).count()
    }

    #[test]
    fn a_bucket_empties_and_fills() {
        let limit = Limit::new(EACH, MANY, 10);
        let start = Instant::now() + Duration::from_secs(1);
        let taken = |millis| taken(&limit, client(1), start + Duration::from_millis(millis));
        assert_eq!([taken(0), taken(400), taken(600), taken(60_000)], [3, 0, 1, 3]);
    }

    #[test]
    fn one_client_takes_nothing_from_another() {
        let limit = Limit::new(EACH, MANY, 10);
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(taken(&limit, client(1), now), 3);
        assert_eq!(taken(&limit, client(2), now), 3);
        assert_eq!(taken(&limit, client(1), now), 0);
    }

    #[test]
    fn all_together_have_a_limit_too() {
        let limit = Limit::new(EACH, Rate { per_second: 1.0, burst: 5.0 }, 10);
        let now = Instant::now() + Duration::from_secs(1);
        let taken = [1, 2, 3].map(|n| taken(&limit, client(n), now));
        assert_eq!(taken, [3, 2, 0]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let limit = Limit::new(EACH, MANY, 2);
        let now = Instant::now() + Duration::from_secs(1);
        let each = [1, 2, 3, 4].map(|n| taken(&limit, client(n), now));
        assert_eq!(each, [3, 3, 3, 0], "the third and the fourth are one");
        assert_eq!(limit.state.borrow().clients.len(), 2);
        // Whoever has been away for long enough makes room.
        let later = now + Duration::from_secs(2);
        assert_eq!(taken(&limit, client(4), later), 3);
        assert!(limit.state.borrow().clients.contains_key(&client(4)));
    }

    #[test]
    fn a_user_has_a_whole_network() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::7"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:127.0.0.1"), of("127.0.0.1"));
    }
}
