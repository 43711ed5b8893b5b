//! A store in memory that somebody else has a hand in.

use std::collections::BTreeMap;
use std::time::Duration;

use leno_session::store::{
    Change, Commit, Effect, Held, Lease, NewMessage, NewSession, Outcome, Release, Result, Whole,
};
use leno_session::store::{Known, Want};
use leno_session::{Memory, Query, Row, Sent, SessionId, State, Store};

/// What happens to a store before and after it is asked.
pub(crate) trait Hand: Send + Sync {
    /// Before the operation of this name, with the steps that it is to store.
    fn before(&self, _operation: &str, _steps: &[Commit]) -> Result<()> {
        Ok(())
    }

    /// After a lease.
    fn leased(&self, _leases: &mut Vec<Lease>) {}
}

pub(crate) struct Hooked<H> {
    pub(crate) inner: Memory,
    pub(crate) hand: H,
}

impl<H: Hand> Hooked<H> {
    pub(crate) fn new(hand: H) -> Self {
        Hooked { inner: Memory::new(), hand }
    }
}

/// What a worker that knows these kinds wants.
pub(crate) fn want(kind: &str, ttl: Duration) -> Want {
    let build = vec![Known { kind: kind.into(), version: 1 }];
    Want { worker: "test".into(), build, most: 100, ttl, only: None }
}

impl<H: Hand> Store for Hooked<H> {
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>> {
        self.hand.before("create", &[])?;
        self.inner.create(new)
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        self.hand.before("lease", &[])?;
        let mut leases = self.inner.lease(want)?;
        self.hand.leased(&mut leases);
        Ok(leases)
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        self.hand.before("commit", batch)?;
        self.inner.commit(batch, ttl)
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        self.hand.before("renew", &[])?;
        self.inner.renew(held, ttl)
    }

    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>> {
        self.hand.before("attempt", &[])?;
        self.inner.attempt(held)
    }

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        self.hand.before("release", &[])?;
        self.inner.release(released)
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
        self.hand.before("send", &[])?;
        self.inner.send(messages)
    }

    fn wait(&self, most: Duration) -> Result<()> {
        self.hand.before("wait", &[])?;
        self.inner.wait(most)
    }

    fn change(&self, ids: &[SessionId], change: &Change) -> Result<Vec<bool>> {
        self.hand.before("change", &[])?;
        self.inner.change(ids, change)
    }

    fn expire(&self, untouched: Duration) -> Result<u64> {
        self.inner.expire(untouched)
    }

    fn forget(&self, ended: Duration) -> Result<u64> {
        self.inner.forget(ended)
    }

    fn sweep(&self, taken: Duration) -> Result<u64> {
        self.hand.before("sweep", &[])?;
        self.inner.sweep(taken)
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        self.inner.outbox(most, ttl)
    }

    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()> {
        self.inner.confirm(done)
    }

    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()> {
        self.inner.list(query, each)
    }

    fn load(&self, id: SessionId) -> Result<Option<Whole>> {
        self.inner.load(id)
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        self.inner.count()
    }
}
