//! Who waits for whose reply. Each waits for one at most, so a deadlock is a cycle, found by whoever
//! closes it.
//!
//! Only processes are in cycles: nobody waits for a reply of other coroutines. So those need not be
//! noted, and most of them are told by a number, without a lock.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use leno_kernel::layer::current_stack;
use leno_kernel::{Co, Name};

use super::about::About;
use crate::section::lock;

/// Whose reply each process waits for, as far as it waits without a limit.
static WAITS: Mutex<Option<Table>> = Mutex::new(None);

type Table = HashMap<u64, Arc<About>, BuildHasherDefault<Spread>>;

/// How many processes there are whose coroutines have this place: a coroutine whose place has none is no
/// process.
static PROCESSES: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];

fn place(co: u64) -> &'static AtomicU32 {
    &PROCESSES[(spread(co) >> 54) as usize]
}

/// Coroutines have numbers that differ in few bits.
fn spread(bits: u64) -> u64 {
    (bits ^ bits >> 26).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// This coroutine is a process from now on.
pub(super) fn is_process(co: u64) {
    place(co).fetch_add(1, Relaxed);
}

/// It is none any more.
pub(super) fn is_no_process(co: u64) {
    place(co).fetch_sub(1, Relaxed);
}

/// That the calling coroutine waits for a reply; dropped when it does not any more.
pub(super) struct Waits(Option<Co>);

/// Notes that the calling code waits for a reply of this process. If that can never come, because the
/// process waits, over others perhaps, for the calling one: their names, beginning with the process.
pub(super) fn waits_for(callee: &Arc<About>) -> Result<Waits, Vec<Name>> {
    let Some(own) = current_stack().filter(|own| place(own.bits()).load(Relaxed) > 0) else {
        return Ok(Waits(None));
    };
    let mut locked = lock(&WAITS);
    let waits = locked.get_or_insert_default();
    let mut next = Some(callee);
    while let Some(about) = next {
        if about.is(own) {
            return Err(circle(callee, own, waits));
        }
        next = waits.get(&about.co_bits());
    }
    let before = waits.insert(own.bits(), callee.clone());
    drop(locked);
    drop(before);
    Ok(Waits(Some(own)))
}

/// Those who wait for one another, from `first` to `own`.
#[cold]
fn circle(first: &Arc<About>, own: Co, waits: &Table) -> Vec<Name> {
    let next = |about: &&Arc<About>| waits.get(&about.co_bits()).filter(|_| !about.is(own));
    core::iter::successors(Some(first), next).map(|about| about.name.clone()).collect()
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(own) = self.0 {
            let mut waits = lock(&WAITS);
            let callee = waits.as_mut().and_then(|waits| waits.remove(&own.bits()));
            drop(waits);
            drop(callee);
        }
    }
}

/// Hashes the number of a coroutine, which nobody can choose.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = spread(self.0 ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = spread(bits);
    }
}
