//! Looking into a session.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::error::SessionError;
use crate::id::SessionId;
use crate::row::Row;
use crate::sessions::Sessions;
use crate::store::{LARGEST, Store};
use crate::text::too_large;

impl Sessions {
    /// All there is of a session, as JSON: where it is, what it says, its frames with their locals, messages that it
    /// has not taken, effects that were not confirmed.
    ///
    /// # Errors
    /// If there is none; if the store fails.
    pub fn inspect(&self, id: SessionId) -> Result<Value, SessionError> {
        let whole = self.patiently(|| self.store.load(id))?.ok_or(SessionError::NoSession(id))?;
        let image = match self.kinds.get(&whole.row.kind) {
            _ if whole.row.size > LARGEST => {
                json!({ "unreadable": too_large(whole.row.size as i64) })
            }
            _ if whole.image.is_empty() => Value::Null,
            None => json!({ "unreadable": "no routine of this name is registered here" }),
            Some(kind) => {
                kind.show(&whole.image).unwrap_or_else(|cause| json!({ "unreadable": cause }))
            }
        };
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        let inbox = whole.inbox.iter().map(|m| json!({ "key": m.key, "body": text(&m.body) }));
        let outbox = whole.outbox.iter().map(|effect| {
            json!({ "key": effect.key(), "topic": effect.topic, "body": text(&effect.body) })
        });
        let mut shown = shown(&whole.row);
        shown["image"] = image;
        shown["inbox"] = inbox.collect();
        shown["outbox"] = outbox.collect();
        Ok(shown)
    }
}

/// A row as JSON.
fn shown(row: &Row) -> Value {
    let mut shown = json!({
        "id": row.id,
        "kind": row.kind,
        "version": row.version,
        "state": row.state,
        "sequence": row.sequence,
        "effects": row.effects,
        "token": row.token,
        "worker": row.worker,
        "due": row.due.map(millis),
        "reason": row.reason,
        "created": millis(row.created),
        "touched": millis(row.touched),
        "bytes": row.size,
    });
    // Moved, where `json!` would write it anew, as deep as it is.
    shown["said"] = leno_frame::json::from_slice(row.said.as_bytes()).unwrap_or(Value::Null);
    shown
}

/// Since 1970.
fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
