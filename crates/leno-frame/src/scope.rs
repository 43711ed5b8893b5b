//! What a `Serialize` or `Deserialize` cannot be given as an argument: which shared values were met already, and what
//! externals are bound to.
//!
//! Each snapshot and each restoring has tables of its own, in a list of its thread. Several may be in there: a
//! `Serialize` may store another coroutine, or suspend, so that another stack stores one meanwhile. So which tables
//! count is asked of the serializer: `is_human_readable` of those of this crate tells the number of its tables (see
//! [`of`] and [`tell`]). Serializers that keep values for later, such as serde's own for flattened and untagged types,
//! cannot be asked. For these the tables are those that were opened last on the stack that runs; where only others are
//! open, that is an error.
//!
//! A stack may change threads meanwhile. Then its tables are not found any more, which is an error, too.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use leno_context::control::current;
use leno_context::user::{self, Section, lock};

use crate::external::Bindings;

/// The number of no tables: of a serializer that has none.
pub(crate) const NO_TABLES: u64 = 0;

/// Shared values that were written, by address, with their numbers. They are kept, so that no other one gets the same
/// address meanwhile.
pub(crate) type Written = HashMap<usize, (u32, Arc<dyn Any>)>;

#[derive(Default)]
pub(crate) struct Reading {
    pub bindings: Bindings,
    /// Shared values that were read, by number.
    pub shared: HashMap<u32, Arc<dyn Any + Send + Sync>>,
}

pub(crate) enum Tables {
    Writing(Written),
    Reading(Reading),
    /// Nothing is restored: samples are read, to look at a type, maybe while something is restored further out.
    Looking,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Writing,
    Reading,
}

struct Open {
    id: u64,
    /// The coroutine that opened it, by its block; 0 for a thread.
    owner: usize,
    tables: Tables,
    /// What was wrong: postcard does not keep texts of errors.
    complaint: Option<String>,
}

impl Open {
    fn kind(&self) -> Kind {
        match self.tables {
            Tables::Writing(_) => Kind::Writing,
            Tables::Reading(_) | Tables::Looking => Kind::Reading,
        }
    }
}

thread_local! {
    /// In the order in which they were opened. Never dropped, so that coroutines can be stored and restored also in the
    /// destructors of other thread-locals; without tables it has no memory. Tables of a stack that was forgotten are
    /// leaked with it.
    static OPEN: ManuallyDrop<RefCell<Vec<Open>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    static LAST: Cell<u64> = const { Cell::new(0) };
    /// Whether tables are asked for.
    static ASKED: Cell<bool> = const { Cell::new(false) };
    /// The coroutine that has told, by its block, and its tables.
    static TOLD: Cell<Option<(usize, u64)>> = const { Cell::new(None) };
}

fn with_open<R>(with: impl FnOnce(&mut Vec<Open>) -> R) -> R {
    OPEN.with(|open| {
        let _section = Section::open();
        with(&mut open.borrow_mut())
    })
}

/// Tables whose stack has ended on another thread.
static LEFT_BEHIND: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static IS_LEFT_BEHIND: AtomicBool = AtomicBool::new(false);

/// Ends its tables, also when it is left by a panic.
pub(crate) struct Scope(u64);

pub(crate) fn write() -> Scope {
    open(Tables::Writing(Written::new()))
}

pub(crate) fn read(bindings: &Bindings) -> Scope {
    open(Tables::Reading(Reading { bindings: bindings.clone(), ..Reading::default() }))
}

/// Until it ends, what is read on this stack by a deserializer that cannot be asked has no tables.
pub(crate) fn look() -> Scope {
    open(Tables::Looking)
}

// The functions below that use thread-locals are not inlined: user code between two of them may change threads.

#[inline(never)]
fn open(tables: Tables) -> Scope {
    let id = next_id();
    let entry = Open { id, owner: current().addr(), tables, complaint: None };
    with_open(|open| open.push(entry));
    if IS_LEFT_BEHIND.load(Relaxed) {
        purge();
    }
    Scope(id)
}

/// A number that nobody else has, on any thread.
fn next_id() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    let last = LAST.get();
    let next = if last == 0 { THREADS.fetch_add(1, Relaxed) << 40 } else { last };
    LAST.set(next + 1);
    next
}

impl Scope {
    pub(crate) fn id(&self) -> u64 {
        self.0
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        match close(self.0) {
            Some(tables) => dispose(tables),
            None => {
                lock(&LEFT_BEHIND).push(self.0);
                IS_LEFT_BEHIND.store(true, Relaxed);
            }
        }
    }
}

#[inline(never)]
fn close(id: u64) -> Option<Tables> {
    with_open(|open| {
        let index = open.iter().rposition(|entry| entry.id == id)?;
        let tables = open.remove(index).tables;
        if open.is_empty() {
            *open = Vec::new();
        }
        Some(tables)
    })
}

/// Drops tables. The last owner of a shared value may be in there, whose `Drop` is user code.
fn dispose(tables: Tables) {
    match tables {
        Tables::Writing(written) => {
            written.into_values().for_each(|(_, value)| user::dispose(value));
        }
        Tables::Reading(Reading { bindings, shared }) => {
            shared.into_values().for_each(user::dispose);
            user::dispose(bindings);
        }
        Tables::Looking => {}
    }
}

/// Ends tables of this thread that were left behind.
#[cold]
#[inline(never)]
fn purge() {
    let mut ended = Vec::new();
    let mut left = lock(&LEFT_BEHIND);
    with_open(|open| {
        left.retain(|id| match open.iter().position(|entry| entry.id == *id) {
            Some(index) => {
                ended.push(open.remove(index).tables);
                false
            }
            None => true,
        });
    });
    IS_LEFT_BEHIND.store(!left.is_empty(), Relaxed);
    drop(left);
    ended.into_iter().for_each(dispose);
}

/// Says which tables a serializer has, to a value that asks. Called by `is_human_readable` of this crate's.
#[inline]
pub(crate) fn tell(id: u64) {
    tell_if_asked(id);
}

#[inline(never)]
fn tell_if_asked(id: u64) {
    if ASKED.get() {
        TOLD.set(Some((current().addr(), id)));
    }
}

/// Asks a serializer whether it writes for people, by `ask`, and which tables it has: none if it is not one of an
/// image.
///
/// # Errors
/// If that cannot be told.
pub(crate) fn of(kind: Kind, ask: impl FnOnce() -> bool) -> (bool, Result<Option<u64>, String>) {
    begin_to_ask();
    let is_human_readable = ask();
    (is_human_readable, answer(kind))
}

#[inline(never)]
fn begin_to_ask() {
    TOLD.set(None);
    ASKED.set(true);
}

#[inline(never)]
fn answer(kind: Kind) -> Result<Option<u64>, String> {
    ASKED.set(false);
    if leno_context::is_planted("snapshot-tables") {
        TOLD.take();
        let is_one = |entry: &&Open| entry.kind() == kind;
        return Ok(with_open(|open| open.iter().rev().find(is_one).map(|entry| entry.id)));
    }
    match TOLD.take() {
        Some((_, NO_TABLES)) => Ok(None),
        Some((teller, id)) if teller == current().addr() => Ok(Some(id)),
        Some(_) => Err(unclear()),
        None => by_stack(kind),
    }
}

/// The tables that were opened last on the stack that runs.
fn by_stack(kind: Kind) -> Result<Option<u64>, String> {
    if with_open(|open| open.iter().all(|entry| entry.kind() != kind)) {
        return Ok(None);
    }
    purge();
    let running = current().addr();
    with_open(|open| {
        let mut all = open.iter().rev().filter(|entry| entry.kind() == kind).peekable();
        if all.peek().is_none() {
            return Ok(None);
        }
        let entry = all.find(|entry| entry.owner == running).ok_or_else(unclear)?;
        Ok((!matches!(entry.tables, Tables::Looking)).then_some(entry.id))
    })
}

#[cold]
fn unclear() -> String {
    "another coroutine of this thread is stored or restored meanwhile, and the serializer, which keeps values for \
     later, cannot tell whose shared values and externals count: let no `Serialize` or `Deserialize` suspend"
        .into()
}

/// What is said where [`with_written`] or [`with_reading`] find nothing.
#[cold]
pub(crate) fn moved() -> String {
    "the coroutine that is stored or restored has changed threads meanwhile: let no `Serialize` or `Deserialize` \
     suspend"
        .into()
}

/// Calls `with`, which calls no user code; `None` if the tables are not this thread's.
fn with<R>(id: u64, with: impl FnOnce(&mut Open) -> Option<R>) -> Option<R> {
    with_open(|open| with(open.iter_mut().rev().find(|entry| entry.id == id)?))
}

/// As [`with`], with what was written.
#[inline(never)]
pub(crate) fn with_written<R>(id: u64, then: impl FnOnce(&mut Written) -> R) -> Option<R> {
    with(id, |entry| match &mut entry.tables {
        Tables::Writing(written) => Some(then(written)),
        Tables::Reading(_) | Tables::Looking => None,
    })
}

/// As [`with`], with what was read.
#[inline(never)]
pub(crate) fn with_reading<R>(id: u64, then: impl FnOnce(&mut Reading) -> R) -> Option<R> {
    with(id, |entry| match &mut entry.tables {
        Tables::Reading(reading) => Some(then(reading)),
        Tables::Writing(_) | Tables::Looking => None,
    })
}

/// Keeps the text of an error, which postcard does not.
#[cold]
#[inline(never)]
pub(crate) fn put_aside(scope: Option<u64>, text: String) -> String {
    if let Some(id) = scope {
        with(id, |entry| {
            entry.complaint = Some(text.clone());
            Some(())
        });
    }
    text
}

#[cold]
#[inline(never)]
pub(crate) fn take_complaint(id: u64) -> Option<String> {
    with(id, |entry| entry.complaint.take())
}
