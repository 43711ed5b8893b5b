//! What a routine is lent while it runs.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use crate::id::SessionId;
use crate::store::{NewEffect, NewMessage};
use crate::text;

/// What is shared with all sessions of an engine, by type.
pub(crate) type Properties = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// The context of a step, `co.ctx()` in a routine over `Co<_, _, Stage>`: who it is, and what it does to the
/// world.
///
/// What is sent and done here is stored with the step, in one transaction. A step that is not stored, because its
/// process died or was too slow, has done nothing.
pub struct Stage {
    pub(crate) id: SessionId,
    pub(crate) sequence: u64,
    pub(crate) token: u64,
    pub(crate) properties: Arc<Properties>,
    pub(crate) messages: Vec<NewMessage>,
    pub(crate) effects: Vec<NewEffect>,
}

impl Stage {
    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The sequence that the session has after this step, if it is stored.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Sends text to another session.
    pub fn send(&mut self, to: SessionId, text: impl Into<String>) {
        self.send_bytes(to, text.into().into_bytes());
    }

    /// Sends a value to another session, as JSON.
    ///
    /// # Panics
    /// If it cannot be written as JSON, or is nested deeper than the stack has room for; then the step fails.
    pub fn send_json(&mut self, to: SessionId, value: &impl Serialize) {
        self.send_bytes(
            to,
            leno_frame::json::to_vec(value).expect("a message can be written as JSON"),
        );
    }

    fn send_bytes(&mut self, to: SessionId, body: Vec<u8>) {
        // The step is stored once, under a token that is granted once: so this is a name that nobody else uses, also if
        // there was another session of this id before.
        let number = self.messages.len();
        let key = format!("{}/{}/{}/{number}", self.id, self.token, self.sequence);
        self.messages.push(NewMessage { to, key, body });
    }

    /// Leaves something to be done in the world: see [`crate::Sessions::deliver`].
    ///
    /// # Panics
    /// If the topic has a NUL byte, which no store holds; then the step fails.
    pub fn effect(&mut self, topic: &str, body: impl Into<Vec<u8>>) {
        assert!(text::is_plain(topic), "the topic of an effect has no NUL byte");
        self.effects.push(NewEffect { topic: topic.into(), body: body.into() });
    }

    /// What the engine was given by [`crate::Sessions::provide`].
    ///
    /// # Panics
    /// If it was given nothing of this type; then the step fails.
    pub fn get<T: Send + Sync + 'static>(&self) -> Arc<T> {
        let found = self.properties.get(&TypeId::of::<T>()).cloned();
        let found = found.and_then(|found| found.downcast().ok());
        found.unwrap_or_else(|| {
            panic!("no `{}` was given to the engine by `provide`", std::any::type_name::<T>())
        })
    }
}

/// What a routine can have as its context: [`Stage`], or nothing.
pub trait Lent: Send + 'static {
    #[doc(hidden)]
    fn lend<T>(stage: &mut Stage, to: impl FnOnce(&mut Self) -> T) -> T;
}

impl Lent for Stage {
    fn lend<T>(stage: &mut Stage, to: impl FnOnce(&mut Self) -> T) -> T {
        to(stage)
    }
}

impl Lent for () {
    fn lend<T>(_: &mut Stage, to: impl FnOnce(&mut Self) -> T) -> T {
        to(&mut ())
    }
}
