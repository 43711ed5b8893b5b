//! One large mapping cut into equal slots, each a stack.
//!
//! Slots are carved in order, under the pool's lock, and then go round through the pool for ever.
//! `owners` says which thread uses a slot (0: none), so that a thread can list its coroutines
//! without touching the memory of idle stacks. The registry of slabs only grows and is read
//! without locks, also by the signal handler.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::guard::{self, Guards};
use super::{StackError, StackSize};

const FIRST_SLOTS: u32 = 64;
const MOST_SLOTS: u32 = 16_384;
/// Bytes a slab may reserve, so that slabs of huge stacks stay few.
const MOST_BYTES: usize = 4 << 30;
const MOST_SLABS: usize = 2048;
/// Address space that stacks leave to the rest of the process: so many bytes, and a part of what they have
/// themselves, as those above keep tables of their coroutines. Without it, nobody could say that there is
/// none left.
const SPARED: usize = 32 << 20;
const SPARED_PART: usize = 16;
const COLOUR_STEP: usize = 192;
const COLOURS: usize = 2048;

/// A mapping of equally sized stacks.
#[derive(Debug)]
pub(crate) struct Slab {
    base: *mut u8,
    stride: usize,
    slots: u32,
    pub(crate) size: StackSize,
    guards: Guards,
    carved: AtomicU32,
    owners: Box<[AtomicU32]>,
}

// SAFETY: the mapping is never unmapped; slots are handed out by the pool to one owner at a time.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

static SLABS: [AtomicPtr<Slab>; MOST_SLABS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST_SLABS];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// All slabs there are.
pub(crate) fn all() -> impl Iterator<Item = &'static Slab> {
    let count = COUNT.load(Ordering::Acquire);
    SLABS[..count].iter().map(|slab| {
        // SAFETY: entries below the count are leaked boxes, published by the release of the count.
        unsafe { &*slab.load(Ordering::Relaxed) }
    })
}

/// Maps a new slab and enters it into the registry. The pool's lock is held.
///
/// `serial` counts the slabs of this class: later ones are larger. When the system has no room
/// for one and for what is spared, smaller ones are tried.
pub(super) fn add(size: StackSize, serial: u32) -> Result<&'static Slab, StackError> {
    let number = COUNT.load(Ordering::Relaxed);
    if number == MOST_SLABS {
        let why = format!("{MOST_SLABS} slabs are in use");
        return Err(StackError::OutOfMemory { size: size.bytes(), why });
    }
    let stride = size.stride();
    let wanted = FIRST_SLOTS.checked_shl(serial).unwrap_or(MOST_SLOTS).clamp(1, MOST_SLOTS);
    let mut slots = wanted.min((MOST_BYTES / stride).max(1) as u32);
    let others: usize = all().map(Slab::reserved).sum();
    let base = loop {
        let bytes = slots as usize * stride;
        let spared = SPARED + (others + bytes) / SPARED_PART;
        match map_sparing(bytes, spared) {
            Ok(base) => break base,
            Err(_) if slots > 1 => slots /= 2,
            Err(error) => {
                let spared = spared >> 20;
                let why = format!("{error} ({spared} MiB are left to the rest of the process)");
                return Err(StackError::OutOfMemory { size: size.bytes(), why });
            }
        }
    };
    let slab: &'static Slab = Box::leak(Box::new(Slab {
        base,
        stride,
        slots,
        size,
        guards: guard::kind(),
        carved: AtomicU32::new(0),
        owners: (0..slots).map(|_| AtomicU32::new(0)).collect(),
    }));
    SLABS[number].store((&raw const *slab).cast_mut(), Ordering::Relaxed);
    COUNT.store(number + 1, Ordering::Release);
    Ok(slab)
}

/// Reserves zeroed memory without committing it, if so much address space is left then.
#[cfg(not(leno_baton))]
fn map_sparing(bytes: usize, spared: usize) -> std::io::Result<*mut u8> {
    let spared = spared.next_multiple_of(super::PAGE);
    let base = map(bytes + spared)?;
    // SAFETY: the end of the mapping just made, which nobody uses.
    unsafe { libc::munmap(base.wrapping_add(bytes).cast(), spared) };
    Ok(base)
}

#[cfg(leno_baton)]
fn map_sparing(bytes: usize, _spared: usize) -> std::io::Result<*mut u8> {
    map(bytes)
}

/// Reserves zeroed memory without committing it.
#[cfg(not(leno_baton))]
pub(crate) fn map(bytes: usize) -> std::io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: a fresh anonymous mapping, no address asked for.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // Huge pages only cost here: guards would split them, and a parked stack needs one page.
    // SAFETY: the mapping just made.
    unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(base.cast())
}

#[cfg(leno_baton)]
pub(crate) fn map(bytes: usize) -> std::io::Result<*mut u8> {
    let layout = std::alloc::Layout::from_size_align(bytes, super::PAGE).expect("page-aligned");
    // SAFETY: a slab is never empty.
    let base = unsafe { std::alloc::alloc_zeroed(layout) };
    if base.is_null() { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(base) }
}

impl Slab {
    /// Carves the next slot: the pool's lock is held. `None` when all are carved.
    pub(super) fn carve(&self) -> Result<Option<u32>, StackError> {
        let slot = self.carved.load(Ordering::Relaxed);
        if slot == self.slots {
            return Ok(None);
        }
        guard::install(self.guards, self.start(slot), self.size.guard())?;
        self.carved.store(slot + 1, Ordering::Relaxed);
        Ok(Some(slot))
    }

    /// How many slots have ever been used.
    pub(super) fn carved(&self) -> u32 {
        self.carved.load(Ordering::Relaxed)
    }

    /// Bytes of address space.
    pub(super) fn reserved(&self) -> usize {
        self.slots as usize * self.stride
    }

    fn start(&self, slot: u32) -> *mut u8 {
        debug_assert!(slot < self.slots);
        // SAFETY: within the mapping.
        unsafe { self.base.add(slot as usize * self.stride) }
    }

    /// The highest address of a slot's stack, below its colour.
    #[inline(always)]
    pub(crate) fn top(&self, slot: u32) -> *mut u8 {
        let colour = (slot as usize * COLOUR_STEP) % COLOURS;
        // SAFETY: within the slot.
        unsafe { self.start(slot).add(self.stride - colour) }
    }

    /// The lowest usable address of a slot's stack.
    #[inline(always)]
    pub(crate) fn limit(&self, slot: u32) -> *mut u8 {
        // SAFETY: within the slot.
        unsafe { self.start(slot).add(self.size.guard()) }
    }

    /// The slot that `address` lies in, and whether it is in its guard.
    pub(crate) fn locate(&self, address: usize) -> Option<(u32, bool)> {
        let offset = address.checked_sub(self.base.addr())?;
        let slot = offset / self.stride;
        if slot >= self.slots as usize {
            return None;
        }
        Some((slot as u32, offset % self.stride < self.size.guard()))
    }

    /// The thread that uses a slot; 0 for none.
    #[inline(always)]
    pub(crate) fn owner(&self, slot: u32) -> &AtomicU32 {
        &self.owners[slot as usize]
    }

    /// The slots in use by a thread (or by any thread, for `None`).
    pub(crate) fn used_by(&self, thread: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        (0..self.carved()).filter(move |&slot| {
            let owner = self.owner(slot).load(Ordering::Relaxed);
            owner != 0 && thread.is_none_or(|thread| thread == owner)
        })
    }
}
