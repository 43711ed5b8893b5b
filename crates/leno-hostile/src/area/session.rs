//! Sessions on a store in memory: steps, values, properties and deliveries that misbehave, and a store that does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use leno::frame::{Co, resumable};
use leno::session::store::{
    Change, Commit, Held, Lease, NewMessage, NewSession, Outcome, Release, Result, Want, Whole,
};
use leno::session::{
    Effect, Memory, Pace, Query, Row, Sent, SessionId, Sessions, Stage, State, Store, StoreError,
    Wait, Wake,
};

use crate::area::Act;
use crate::bomb::{Bomb, Hook};
use crate::canary::violation;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("sessions", open),
    ("session_start", start),
    ("session_start", start),
    ("session_work", work),
    ("session_work", work),
    ("session_answer", answer),
    ("session_change", change),
    ("session_deliver", deliver),
    ("session_look", look),
    ("session_workers", workers),
];

type Order = Co<Wait, Wake, Stage>;

/// A session whose values, returned one included, misbehave, and whose steps run scripts.
#[resumable]
async fn order(co: &mut Order, plan: u8) -> Bomb {
    let held = Bomb::new(plan);
    co.ctx().effect("mail", vec![plan]);
    let mut turn: u8 = 0;
    while turn < plan % 4 {
        let wait = match (plan / 4).wrapping_add(turn) % 3 {
            0 => Wait::step().saying(&held),
            1 => Wait::answer(&held),
            _ => Wait::sleep(Duration::from_micros(50)),
        };
        let _wake = co.suspend(wait).await;
        held.check();
        co.ctx().get::<Bomb>().fire(Hook::Body);
        let own = co.ctx().id();
        co.ctx().send_json(own, &held);
        turn += 1;
    }
    held.fire(Hook::Body);
    Bomb::new(plan.wrapping_add(1))
}

/// A session that is all right.
#[resumable]
async fn good(co: &mut Order, n: u32) -> u32 {
    let _wake = co.suspend(Wait::step()).await;
    n + 1
}

/// A store in memory that nobody waits for long, and that may misbehave as long as there is fuel.
struct Faulty(Memory, Option<Bomb>);

impl Faulty {
    /// Whether its answers are to be wrong in the way of this number.
    fn is_wrong(&self, way: u8) -> bool {
        world::has_fuel() && self.1.as_ref().is_some_and(|bomb| bomb.plan() % way == 0)
    }

    fn before(&self) -> Result<()> {
        if world::has_fuel()
            && let Some(bomb) = &self.1
        {
            bomb.fire(Hook::Policy);
        }
        if self.is_wrong(3) { Err(StoreError::Refused("it is hostile".into())) } else { Ok(()) }
    }
}

impl Store for Faulty {
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>> {
        self.before()?;
        self.0.create(new)
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        self.before()?;
        let mut leases = self.0.lease(want)?;
        if self.is_wrong(5) {
            leases.iter_mut().for_each(|lease| lease.sequence = u64::MAX);
        }
        Ok(leases)
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        self.before()?;
        let mut outcomes = self.0.commit(batch, ttl)?;
        if self.is_wrong(7) {
            outcomes.pop();
        }
        Ok(outcomes)
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        self.before()?;
        self.0.renew(held, ttl)
    }

    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>> {
        self.before()?;
        self.0.attempt(held)
    }

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        self.before()?;
        self.0.release(released)
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
        self.before()?;
        self.0.send(messages)
    }

    fn wait(&self, most: Duration) -> Result<()> {
        self.before()?;
        self.0.wait(most.min(Duration::from_millis(1)))
    }

    fn change(&self, ids: &[SessionId], change: &Change) -> Result<Vec<bool>> {
        self.before()?;
        self.0.change(ids, change)
    }

    fn expire(&self, untouched: Duration) -> Result<u64> {
        self.0.expire(untouched)
    }

    fn forget(&self, ended: Duration) -> Result<u64> {
        self.0.forget(ended)
    }

    fn sweep(&self, taken: Duration) -> Result<u64> {
        self.before()?;
        self.0.sweep(taken)
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        self.before()?;
        self.0.outbox(most, ttl)
    }

    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()> {
        self.before()?;
        self.0.confirm(done)
    }

    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()> {
        self.0.list(query, each)
    }

    fn load(&self, id: SessionId) -> Result<Option<Whole>> {
        self.before()?;
        self.0.load(id)
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        self.0.count()
    }
}

fn engine(z: u8, is_hostile: bool) -> Sessions {
    let store = Faulty(Memory::new(), is_hostile.then(|| Bomb::new(z)));
    // A short lease is for sessions that were lost in a store that misbehaves.
    let pace = Pace { ttl: Duration::from_millis(50), attempts: 2, ..Pace::default() };
    Sessions::open(store)
        .register("order", order)
        .register("good", good)
        .provide(Arc::new(Bomb::new(z)))
        .pace(pace)
}

fn open(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    world::share(x, engine(z, y % 4 == 0));
}

fn sessions(x: u8, z: u8) -> Arc<Sessions> {
    world::shared(x).unwrap_or_else(|| world::share(x, engine(z, false)))
}

fn start(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    if let Ok(id) = sessions(x, z).start("order", &(z,)) {
        world::share(x, id);
    }
}

fn work(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let sessions = sessions(x, z);
    if y % 2 == 0 {
        drop(sessions.work_off().map_err(|error| error.to_string()));
    } else if let Some(id) = world::shared::<SessionId>(x) {
        drop(sessions.run_for(*id, Duration::from_millis(1)).map_err(|error| error.to_string()));
    }
}

fn answer(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(id) = world::shared::<SessionId>(x) else { return };
    let sessions = sessions(x, z);
    match y % 3 {
        0 => drop(sessions.answer(*id, "yes")),
        1 => drop(sessions.answer_once(*id, "key", &[z; 4])),
        _ => drop(sessions.answer_once(*id, "a\0b", &[z; 4])),
    }
}

fn change(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(id) = world::shared::<SessionId>(x) else { return };
    let sessions = sessions(x, z);
    match y % 5 {
        0 => drop(sessions.cancel(*id, "hostile")),
        1 => drop(sessions.retry(*id)),
        2 => drop(sessions.replace(*id, vec![z; usize::from(z % 32)])),
        3 => drop(sessions.retry_quarantined("order")),
        _ => drop((sessions.expire(Duration::from_secs(60)), sessions.forget(Duration::ZERO))),
    }
}

fn deliver(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    let delivered = sessions(x, z).deliver(4, |effect| {
        drop(effect.key());
        let refusal = Bomb::new(z);
        refusal.fire(Hook::Body);
        if z % 2 == 0 { Ok(()) } else { Err(refusal) }
    });
    drop(delivered.map_err(|error| error.to_string()));
}

fn look(_: &Cx<'_>, x: u8, _: u8, z: u8) {
    let sessions = sessions(x, z);
    drop((sessions.metrics(), sessions.health(), sessions.count(), sessions.sweep()));
    drop(sessions.list(&Query::default()));
    if let Some(id) = world::shared::<SessionId>(x) {
        drop(sessions.inspect(*id).map(|value| value.to_string()));
        drop(sessions.show(*id).map(|row| row.text()));
    }
}

/// Workers outlive hostile sessions, and run a good one to its end.
fn workers(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    world::spend(20);
    let sessions = engine(z, false);
    let run = sessions.clone();
    // The thread that asks is not one of a system, whose coroutines may be told to end while they wait.
    let asks = std::thread::spawn(move || {
        let count = 1 + usize::from(y % 2);
        let workers = run.workers(count);
        for turn in 0..3_u8 {
            drop(run.start("order", &(z.wrapping_add(turn),)));
        }
        let started = run.start("good", &(1_u32,));
        let Ok(id) = started else { violation(&format!("nothing can be started: {started:?}")) };
        while run.show(id).is_ok_and(|row| row.state != State::Done) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if workers.running() != count {
            violation("a worker of sessions has ended");
        }
        if let Err(error) = workers.drain() {
            violation(&format!("a worker of sessions has failed: {error}"));
        }
        world::quietly(|| drop(run));
    });
    if let Err(payload) = asks.join() {
        std::mem::forget(payload);
        violation("a thread that asks workers of sessions has panicked");
    }
    drop(sessions);
}
