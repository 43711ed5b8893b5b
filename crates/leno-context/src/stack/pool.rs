//! The pool: stacks that wait to be used again.
//!
//! Each thread caches a few stacks per class, so that making and ending a coroutine touches no
//! lock. What overflows a cache goes to the common pool in batches, still warm. When more than
//! `DIRTY_LIMIT` warm stacks have come together there, the oldest are *trimmed*: their pages
//! are returned to the system, all but the top page of those within the *warm limit*, and all of
//! the rest. So the pool is bounded in memory, not in number: a trimmed stack costs address space
//! only, and is used again before a new one is carved.

use core::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard};

use super::slab::{self, Slab};
use super::{CLASSES, Stack, StackError, StackSize, guard};
use crate::thread::{self, Block};

const CACHED: usize = 64;
const BATCH: usize = 32;
const DIRTY_LIMIT: usize = 512;
const WARM_LIMIT: usize = 1024;

/// A thread's own few stacks.
#[derive(Debug)]
pub(crate) struct Cache {
    classes: [Vec<Stack>; CLASSES],
}

#[derive(Debug)]
struct Class {
    /// Just used; all their pages may be resident.
    dirty: Vec<Stack>,
    /// Trimmed down to the top page.
    warm: Vec<Stack>,
    /// Trimmed altogether.
    cold: Vec<Stack>,
    carving: Option<&'static Slab>,
    slabs: u32,
}

struct Pool {
    classes: [Class; CLASSES],
    warm_limit: usize,
    trims: u64,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    classes: [const {
        Class { dirty: Vec::new(), warm: Vec::new(), cold: Vec::new(), carving: None, slabs: 0 }
    }; CLASSES],
    warm_limit: WARM_LIMIT,
    trims: 0,
});

fn pool() -> MutexGuard<'static, Pool> {
    // No code that can panic between inconsistent states runs under the lock.
    POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Takes a stack of the given size.
///
/// # Errors
/// When the system has no more memory, address space or guard pages; nothing is lost then.
///
/// # Safety
/// A control block is set up at its top before anyone looks for the coroutines of this thread, or it is
/// given back.
#[inline]
pub unsafe fn take(size: StackSize) -> Result<Stack, StackError> {
    take_for(thread::block(), size)
}

#[inline(always)]
pub(crate) fn take_for(thread: &Block, size: StackSize) -> Result<Stack, StackError> {
    // SAFETY: only this thread touches its cache, and no reference outlives this function.
    let cache = unsafe { &mut *thread.cache.get() };
    let stack = match cache.classes[size.class()].pop() {
        Some(stack) => stack,
        None => refill(cache, size)?,
    };
    stack.slab.owner(stack.slot).store(thread.number(), Relaxed);
    Ok(stack)
}

/// Gives a stack back.
///
/// # Safety
/// Nobody runs on it or refers to it any more.
#[inline]
pub unsafe fn give_back(stack: Stack) {
    give_back_to(thread::block(), stack);
}

#[inline(always)]
pub(crate) fn give_back_to(thread: &Block, stack: Stack) {
    stack.slab.owner(stack.slot).store(0, Relaxed);
    // SAFETY: only this thread touches its cache, and no reference outlives this function.
    let cache = unsafe { &mut *thread.cache.get() };
    let class = stack.size().class();
    let cached = &mut cache.classes[class];
    cached.push(stack);
    if cached.len() > CACHED {
        spill(cached, class);
    }
}

#[cold]
#[inline(never)]
fn refill(cache: &mut Cache, size: StackSize) -> Result<Stack, StackError> {
    let mut pool = pool();
    let class = &mut pool.classes[size.class()];
    let cached = &mut cache.classes[size.class()];
    let first = class.get(size)?;
    // Later ones only from what is there: carving costs, and may fail.
    while cached.len() + 1 < BATCH {
        match class.reuse() {
            Some(stack) => cached.push(stack),
            None => break,
        }
    }
    Ok(first)
}

#[cold]
#[inline(never)]
fn spill(cached: &mut Vec<Stack>, class: usize) {
    let mut pool = pool();
    pool.classes[class].dirty.extend(cached.drain(..BATCH));
    if pool.classes[class].dirty.len() >= DIRTY_LIMIT {
        pool.trim(class);
    }
}

impl Class {
    fn reuse(&mut self) -> Option<Stack> {
        self.dirty.pop().or_else(|| self.warm.pop()).or_else(|| self.cold.pop())
    }

    fn get(&mut self, size: StackSize) -> Result<Stack, StackError> {
        if let Some(stack) = self.reuse() {
            return Ok(stack);
        }
        loop {
            if let Some(slab) = self.carving
                && let Some(slot) = slab.carve()?
            {
                return Ok(Stack::of(slab, slot));
            }
            self.carving = Some(slab::add(size, self.slabs)?);
            self.slabs += 1;
        }
    }
}

impl Pool {
    /// Returns pages of the older half of the dirty stacks of a class to the system.
    fn trim(&mut self, class: usize) {
        let warm_limit = self.warm_limit;
        let class = &mut self.classes[class];
        let batch: Vec<Stack> = class.dirty.drain(..DIRTY_LIMIT / 2).collect();
        let room = warm_limit.saturating_sub(class.warm.len());
        pages::discard(&batch, room);
        for (i, stack) in batch.into_iter().enumerate() {
            if i < room { class.warm.push(stack) } else { class.cold.push(stack) }
        }
        self.trims += 1;
    }
}

impl Cache {
    pub(crate) const fn new() -> Cache {
        Cache { classes: [const { Vec::new() }; CLASSES] }
    }

    /// Gives everything to the common pool.
    pub(crate) fn empty(&mut self) {
        let mut pool = pool();
        for (class, cached) in self.classes.iter_mut().enumerate() {
            pool.classes[class].dirty.append(cached);
            while pool.classes[class].dirty.len() >= DIRTY_LIMIT {
                pool.trim(class);
            }
        }
    }
}

/// How many unused stacks of each size may keep a page of memory; the rest keep none.
pub fn set_warm_limit(stacks: usize) {
    pool().warm_limit = stacks;
}

/// What the pool holds, over all sizes and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Stacks in use.
    pub live: usize,
    /// Stacks waiting to be used again.
    pub pooled: usize,
    /// The most stacks that were ever out of the slabs at once.
    pub high_water: usize,
    /// Mappings that stacks are cut from.
    pub slabs: usize,
    /// Address space of those mappings, in bytes. Memory is used only where stacks were touched.
    pub reserved: usize,
    /// How often a batch of unused stacks had its pages returned to the system.
    pub trims: u64,
    /// How guard pages are made.
    pub guards: guard::Guards,
}

/// The pool's figures now. Walks all slabs; other threads may change them meanwhile.
pub fn figures() -> Figures {
    let trims = pool().trims;
    let (mut live, mut high_water, mut slabs, mut reserved) = (0, 0, 0, 0);
    for slab in slab::all() {
        live += slab.used_by(None).count();
        high_water += slab.carved() as usize;
        reserved += slab.reserved();
        slabs += 1;
    }
    let pooled = high_water.saturating_sub(live);
    Figures { live, pooled, high_water, slabs, reserved, trims, guards: guard::kind() }
}

/// Returning pages to the system.
mod pages {
    use super::Stack;

    /// Discards the pages of `stacks`: of the first `warm` all but the top page, of the rest all.
    #[cfg(leno_baton)]
    pub(super) fn discard(_stacks: &[Stack], _warm: usize) {}

    /// Discards the pages of `stacks`: of the first `warm` all but the top page, of the rest all.
    ///
    /// One `process_madvise` for the whole batch where the kernel lets a process do that to
    /// itself (0.7 µs a stack), else one `madvise` each (1.8 µs). Guards survive both.
    #[cfg(not(leno_baton))]
    pub(super) fn discard(stacks: &[Stack], warm: usize) {
        use super::super::PAGE;
        let range = |(i, stack): (usize, &Stack)| {
            let limit = stack.limit();
            let kept = if i < warm { PAGE } else { 0 };
            let end = (stack.top().addr() - 1) / PAGE * PAGE + PAGE;
            libc::iovec { iov_base: limit.cast(), iov_len: end - kept - limit.addr() }
        };
        let ranges: Vec<libc::iovec> = stacks.iter().enumerate().map(range).collect();
        if ranges.is_empty() || at_once(&ranges) {
            return;
        }
        for range in ranges {
            // SAFETY: pages of unused stacks of our own; reading them later gives zeroes.
            unsafe { libc::madvise(range.iov_base, range.iov_len, libc::MADV_DONTNEED) };
        }
    }

    #[cfg(not(leno_baton))]
    fn at_once(ranges: &[libc::iovec]) -> bool {
        // SAFETY: asks for a descriptor of this process.
        let own = unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) };
        if own < 0 {
            return false;
        }
        let total: usize = ranges.iter().map(|range| range.iov_len).sum();
        let dontneed = libc::MADV_DONTNEED;
        // SAFETY: pages of unused stacks of our own; reading them later gives zeroes.
        let advised = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                own,
                ranges.as_ptr(),
                ranges.len(),
                dontneed,
                0,
            )
        };
        // SAFETY: opened above.
        unsafe { libc::close(own as i32) };
        advised >= 0 && advised as usize == total
    }
}
