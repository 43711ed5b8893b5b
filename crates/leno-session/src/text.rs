//! What stores are given, checked the same way by all of them before anything is changed.
//!
//! PostgreSQL holds no text with a NUL byte, and numbers up to `i64::MAX`. So that a session does not depend on where
//! it is kept, no store takes more, nor anything larger than a lease can hand out: see laws 13 and 17 of [`crate::store`].

use std::borrow::Cow;

use crate::error::StoreError;
use crate::row::Query;
use crate::store::{Change, Commit, LARGEST, NewMessage, NewSession, Next, Result, Want};

/// Text for people, such as the message of a panic, as every store can hold it: NUL bytes are replaced.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text.into() }
}

/// Whether every store can hold this text.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains('\0')
}

fn plain(what: &str, text: &str) -> Result<()> {
    if is_plain(text) {
        return fits(what, text.len());
    }
    Err(StoreError::Refused(format!("a {what} has a NUL byte")))
}

/// Whether something of this size is no larger than what a lease can hand out: see law 17.
fn fits(what: &str, size: usize) -> Result<()> {
    if size <= LARGEST {
        return Ok(());
    }
    Err(StoreError::Refused(format!("a {what} has {size} bytes, of which {LARGEST} are the most")))
}

pub(crate) fn of_sessions(new: &[NewSession]) -> Result<()> {
    new.iter().try_for_each(|new| {
        fits("session's image", new.image.len())?;
        plain("kind", &new.kind)
    })
}

pub(crate) fn of_want(want: &Want) -> Result<()> {
    plain("worker's name", &want.worker)?;
    want.build.iter().try_for_each(|known| plain("kind", &known.kind))
}

pub(crate) fn of_query(query: &Query) -> Result<()> {
    query.kind.iter().try_for_each(|kind| plain("kind", kind))
}

pub(crate) fn of_messages(messages: &[NewMessage]) -> Result<()> {
    messages.iter().try_for_each(|message| {
        fits("message", message.key.len() + message.body.len())?;
        plain("key", &message.key)
    })
}

pub(crate) fn of_change(change: &Change) -> Result<()> {
    match change {
        Change::Cancel(reason) | Change::Quarantine(reason) => plain("reason", reason),
        Change::Replace(image, _) => fits("session's image", image.len()),
        Change::Retry => Ok(()),
    }
}

/// The highest sequence that a session can have.
pub(crate) const LAST: u64 = i64::MAX as u64;

pub(crate) fn of_commits(batch: &[Commit]) -> Result<()> {
    batch.iter().try_for_each(|commit| {
        if commit.sequence >= LAST || commit.token > LAST {
            return Err(StoreError::Refused("a sequence or token is out of range".into()));
        }
        commit.said.iter().try_for_each(|said| plain("text that is said", said))?;
        if let Next::Failed(reason) | Next::Quarantined(reason) = &commit.next {
            plain("reason", reason)?;
        }
        commit.image.iter().try_for_each(|image| fits("session's image", image.len()))?;
        commit.effects.iter().try_for_each(|effect| {
            fits("effect", effect.topic.len() + effect.body.len())?;
            plain("topic", &effect.topic)
        })?;
        of_messages(&commit.messages)
    })
}

/// Says that something is stored, but was not read.
pub(crate) fn too_large(size: i64) -> String {
    format!("it has {size} bytes, of which {LARGEST} are the most")
}
