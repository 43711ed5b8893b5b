//! Reading cells. In SQLite a column may hold anything: a damaged cell harms its own session, and nothing else.
//!
//! What runs sessions reads strictly, one row at a time: the one that cannot be read is quarantined. What shows them
//! reads whatever is there, and says what is wrong with it.

use rusqlite::types::ValueRef;

use crate::clock::{FAR, shown};
use crate::id::SessionId;
use crate::row::{Row, State};
use crate::store::{Awaits, Effect, LARGEST, Message};
use crate::text::too_large;

/// What is wrong with a row.
pub(super) type Damage = String;

pub(super) fn awaited(number: i64) -> Awaits {
    match number {
        0 => Awaits::Nothing,
        1 => Awaits::Message,
        _ => Awaits::Time,
    }
}

/// A row of a statement, read strictly.
pub(super) struct Strict<'r, 's>(pub(super) &'r rusqlite::Row<'s>);

impl Strict<'_, '_> {
    fn cell<T: rusqlite::types::FromSql>(&self, index: usize) -> Result<T, Damage> {
        self.0.get(index).map_err(|error| {
            let name = self.0.as_ref().column_name(index).unwrap_or("?").to_owned();
            format!("`{name}` is damaged: {error}")
        })
    }

    pub(super) fn number(&self, index: usize) -> Result<i64, Damage> {
        self.cell(index)
    }

    /// A number that is counted up from 0, and has room for another one.
    pub(super) fn count(&self, index: usize) -> Result<u64, Damage> {
        let number = self.number(index)?;
        u64::try_from(number).ok().filter(|count| *count < i64::MAX as u64).ok_or_else(|| {
            let name = self.0.as_ref().column_name(index).unwrap_or("?").to_owned();
            format!("`{name}` is damaged: {number} is out of range")
        })
    }

    /// Whether what has the size in this cell may be read.
    pub(super) fn fits(&self, index: usize) -> Result<(), Damage> {
        let size = self.0.get::<_, i64>(index).unwrap_or(0);
        if size <= LARGEST as i64 {
            return Ok(());
        }
        Err(too_large(size))
    }

    pub(super) fn version(&self, index: usize) -> Result<u32, Damage> {
        self.cell(index)
    }

    pub(super) fn id(&self, index: usize) -> Result<SessionId, Damage> {
        self.cell(index).map(SessionId::from_bytes)
    }

    /// With its key as far as it is text: nobody takes a message by its key.
    pub(super) fn message(&self) -> Result<Message, Damage> {
        let key = lossy(self.0, 1);
        Ok(Message { number: self.number(0)?, key, body: self.cell(2)? })
    }

    /// Behind its number, and before its size.
    pub(super) fn effect(&self) -> Result<Effect, Damage> {
        let (session, sequence) = (self.id(1)?, self.count(2)?);
        self.fits(5)?;
        Ok(Effect { session, sequence, topic: self.cell(3)?, body: self.cell(4)? })
    }
}

/// A row of a statement, for those who look: whatever is there.
pub(super) struct Lenient<'r, 's> {
    row: &'r rusqlite::Row<'s>,
    damage: Option<Damage>,
}

impl<'r, 's> Lenient<'r, 's> {
    pub(super) fn new(row: &'r rusqlite::Row<'s>) -> Self {
        Lenient { row, damage: None }
    }

    fn read<T>(&mut self, cell: Result<T, Damage>) -> Option<T> {
        cell.map_err(|damage| self.damage.get_or_insert(damage).clone()).ok()
    }

    fn number(&mut self, index: usize) -> i64 {
        let cell = Strict(self.row).number(index);
        self.read(cell).unwrap_or(0)
    }

    fn text(&mut self, index: usize) -> String {
        let cell = Strict(self.row).cell(index);
        self.read(cell).unwrap_or_else(|| lossy(self.row, index))
    }

    /// A session; if a cell is damaged, that is the reason it has.
    pub(super) fn session(&mut self) -> Row {
        let id = Strict(self.row).id(0);
        let version = Strict(self.row).version(2);
        let (state, due) = (self.number(3), self.number(8));
        let state = i16::try_from(state).ok().and_then(State::numbered);
        let state = state.filter(|_| self.damage.is_none());
        let mut row = Row {
            id: self.read(id).unwrap_or_else(|| SessionId::from_bytes([0; 16])),
            kind: self.text(1),
            version: self.read(version).unwrap_or(0),
            state: state.unwrap_or(State::Quarantined),
            sequence: self.number(4).unsigned_abs(),
            effects: self.number(5).unsigned_abs(),
            token: self.number(6).unsigned_abs(),
            worker: self.text(7),
            due: (due != FAR).then(|| shown(due)),
            said: self.text(9),
            reason: self.text(10),
            created: shown(self.number(11)),
            touched: shown(self.number(12)),
            size: 0,
        };
        row.effects = row.effects.saturating_sub(self.number(14).unsigned_abs());
        row.size = self.row.get::<_, i64>(13).unwrap_or(0).unsigned_abs() as usize;
        if let Some(damage) = self.damage.take() {
            row.reason = damage;
        }
        row
    }

    /// One that is too large says so in its place.
    pub(super) fn effect(&mut self) -> Effect {
        let id = Strict(self.row).id(1);
        let session = self.read(id).unwrap_or_else(|| SessionId::from_bytes([0; 16]));
        let sequence = self.number(2).unsigned_abs();
        if let Err(damage) = Strict(self.row).fits(5) {
            return Effect { session, sequence, topic: String::new(), body: damage.into_bytes() };
        }
        Effect { session, sequence, topic: self.text(3), body: bytes(self.row, 4) }
    }

    /// One that is too large says so in its place.
    pub(super) fn message(&mut self) -> Message {
        if let Err(damage) = Strict(self.row).fits(3) {
            let key = self.text(1);
            return Message { number: self.number(0), key, body: damage.into_bytes() };
        }
        Message { number: self.number(0), key: self.text(1), body: bytes(self.row, 2) }
    }
}

/// Text, as far as it is text.
fn lossy(row: &rusqlite::Row<'_>, index: usize) -> String {
    match row.get_ref(index) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        Ok(ValueRef::Integer(number)) => number.to_string(),
        Ok(ValueRef::Real(number)) => number.to_string(),
        Ok(ValueRef::Null) | Err(_) => String::new(),
    }
}

/// Bytes, if there are any: an image that is none is found out when it is read.
pub(super) fn bytes(row: &rusqlite::Row<'_>, index: usize) -> Vec<u8> {
    match row.get_ref(index) {
        Ok(ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => bytes.to_vec(),
        _ => Vec::new(),
    }
}
