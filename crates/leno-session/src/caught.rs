//! A store as the engine calls it. A store may be anybody's: what it raises is an error here, and so is an answer that
//! does not fit the question.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use leno_kernel::layer::user::{self, Panic};

use crate::error::StoreError;
use crate::id::SessionId;
use crate::row::{Query, Row, State};
use crate::store::{
    Change, Commit, Effect, Held, Lease, NewMessage, NewSession, Outcome, Release, Result, Sent,
    Store, Want, Whole,
};
use crate::text;

/// A store whose panics are [`StoreError::Faulty`].
#[derive(Clone)]
pub(crate) struct Caught(pub(crate) Arc<dyn Store>);

/// Calls user code. What it raises is told as text, and disposed of; the exit of the coroutine that this runs on goes on.
pub(crate) fn call<T>(run: impl FnOnce() -> T) -> std::result::Result<T, String> {
    user::call(run).map_err(said)
}

/// What a panic says, as every store can hold it. An exit that was caught elsewhere and raised again is one like any other.
pub(crate) fn said(panic: Panic) -> String {
    if user::is_exit(&panic) {
        panic.resume();
    }
    let text = panic.message().unwrap_or("it panicked with something that is not text");
    let text = text::clean(text).into_owned();
    if leno_context::is_planted("session-payload") {
        drop(panic.into_payload());
    }
    text
}

fn ask<T>(ask: impl FnOnce() -> Result<T>) -> Result<T> {
    call(ask).unwrap_or_else(|panic| Err(StoreError::Faulty(format!("it panicked: {panic}"))))
}

/// An answer for each that was asked about.
fn each<T>(count: usize, asked: impl FnOnce() -> Result<Vec<T>>) -> Result<Vec<T>> {
    let answers = ask(asked)?;
    fits(count, answers)
}

fn fits<T>(count: usize, answers: Vec<T>) -> Result<Vec<T>> {
    if answers.len() == count {
        return Ok(answers);
    }
    let answered = answers.len();
    Err(StoreError::Faulty(format!("it was asked about {count} and answered for {answered}")))
}

impl Store for Caught {
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>> {
        each(new.len(), || self.0.create(new))
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        ask(|| self.0.lease(want))
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        each(batch.len(), || self.0.commit(batch, ttl))
    }

    fn commit_and_lease(
        &self,
        batch: &[Commit],
        want: &Want,
    ) -> Result<(Vec<Outcome>, Vec<Lease>)> {
        let (outcomes, leases) = ask(|| self.0.commit_and_lease(batch, want))?;
        Ok((fits(batch.len(), outcomes)?, leases))
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        each(held.len(), || self.0.renew(held, ttl))
    }

    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>> {
        each(held.len(), || self.0.attempt(held))
    }

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        each(released.len(), || self.0.release(released))
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
        each(messages.len(), || self.0.send(messages))
    }

    fn wait(&self, most: Duration) -> Result<()> {
        ask(|| self.0.wait(most))
    }

    fn change(&self, ids: &[SessionId], change: &Change) -> Result<Vec<bool>> {
        each(ids.len(), || self.0.change(ids, change))
    }

    fn expire(&self, untouched: Duration) -> Result<u64> {
        ask(|| self.0.expire(untouched))
    }

    fn forget(&self, ended: Duration) -> Result<u64> {
        ask(|| self.0.forget(ended))
    }

    fn sweep(&self, taken: Duration) -> Result<u64> {
        ask(|| self.0.sweep(taken))
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        ask(|| self.0.outbox(most, ttl))
    }

    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()> {
        ask(|| self.0.confirm(done))
    }

    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()> {
        ask(|| self.0.list(query, each))
    }

    fn load(&self, id: SessionId) -> Result<Option<Whole>> {
        ask(|| self.0.load(id))
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        ask(|| self.0.count())
    }
}
