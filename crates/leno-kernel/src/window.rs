//! What other threads see of a core without asking it: who runs, and since when.
//!
//! A core that is busy reads no mail, and that is just when someone wants to know why. So it leaves
//! two numbers in its window: who runs, once for each turn, and when it last looked at the clock,
//! once for some sixty turns. The number of a coroutine says little, and what its core knows of it
//! is for the core's thread alone; so each coroutine has a *plate*, written at its first turn, with
//! its name and its spawn site.
//!
//! # Protocol: a plate is read while another coroutine may get it
//! ```text
//!   the core, at a first turn             whoever looks
//!   W1  owner := 0                        L1  co := running (acquire)
//!   W2  fence (release)                   L2  if owner (acquire) is not co: no plate
//!   W3  write site and name               L3  read site and name
//!   W4  owner := co (release)             L4  fence (acquire)
//!   W5  running := co (release)           L5  if owner is not co any more: no plate
//! ```
//! The race it must win: a plate that is written anew while it is read. If L3 sees anything of a
//! second W3, then L5 sees the second W1, by the fences, or what came after it. A coroutine's number
//! is never given to another one, so `owner` cannot have come back.

use core::panic::Location;
use core::time::Duration;
use std::sync::{Arc, OnceLock};

use crate::co::SLOTS;
use crate::raw::plates::blank;
use crate::raw::site::SiteCell;
use crate::report::Busy;
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};
use crate::user::SystemHook;
use crate::{Co, Name, Time};

/// What a system is called, and how large it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Title {
    pub(crate) name: String,
    pub(crate) cores: usize,
    /// Tells systems of one name apart.
    pub(crate) object: crate::Object,
    /// Gets panics of user code that nobody waits for.
    pub(crate) on_failure: SystemHook,
}

/// See the module.
#[repr(align(128))]
pub(crate) struct Window {
    running: AtomicU64,
    /// When the core last looked at the clock, in the process's time.
    looked: AtomicU64,
    /// When the slice that runs is due, in the process's time; 0 if none is watched.
    due: AtomicU64,
    /// The thread that runs it.
    thread: AtomicU64,
    /// How far the process's time is ahead of the core's; `None` if the core's is not real.
    ahead: Option<Duration>,
    plates: [OnceLock<Box<[Plate]>>; BUCKETS],
    /// Of a movable future, while it runs here; their slots are not the core's.
    movable: Plate,
    pub(crate) number: u32,
    pub(crate) title: Arc<Title>,
}

/// Nobody runs the core.
const NOT_RUN: u64 = 0;
/// The core's own loop runs.
const LOOP: u64 = u64::MAX;
const FIRST: u32 = 16;
const BUCKETS: usize = (SLOTS / FIRST).ilog2() as usize + 1;

impl Window {
    /// The window of the core with this number; `now` is its time, if that is real.
    pub(crate) fn new(number: u32, title: Arc<Title>, now: Option<Time>) -> Window {
        Window {
            running: AtomicU64::new(NOT_RUN),
            looked: AtomicU64::new(0),
            due: AtomicU64::new(0),
            thread: AtomicU64::new(0),
            ahead: now.map(|now| process_now().since(now)),
            plates: [const { OnceLock::new() }; BUCKETS],
            movable: Plate::new(),
            number,
            title,
        }
    }

    /// A turn of `co` begins.
    #[inline(always)]
    pub(crate) fn runs(&self, co: Co) {
        self.running.store(co.bits(), Release);
    }

    /// The core's loop goes on, and looks at its mail.
    #[inline(always)]
    pub(crate) fn loops(&self) {
        self.running.store(LOOP, Release);
    }

    /// Nobody runs the core any more.
    pub(crate) fn leaves(&self) {
        self.running.store(NOT_RUN, Release);
    }

    /// Whether someone runs the core.
    pub(crate) fn is_run(&self) -> bool {
        self.running.load(Acquire) != NOT_RUN
    }

    /// The core has looked at its clock.
    #[inline(always)]
    pub(crate) fn looked(&self, now: Time) {
        if let Some(ahead) = self.ahead {
            self.looked.store((now + ahead).as_nanos(), Relaxed);
        }
    }

    /// A slice begins that is due so much later, for whoever watches; gives what [`Self::end_slice`] takes.
    #[inline(always)]
    pub(crate) fn begin_slice(&self, due: Duration) -> u64 {
        if !crate::watch::is_on() {
            return 0;
        }
        let thread = leno_context::interrupt::thread_id();
        self.thread.store(u64::from(thread.unsigned_abs()), Relaxed);
        let outer = self.due.load(Relaxed);
        self.due.store((process_now() + due).as_nanos().max(1), Release);
        outer
    }

    /// It has come back.
    #[inline(always)]
    pub(crate) fn end_slice(&self, outer: u64) {
        self.due.store(outer, Release);
    }

    /// When the slice that runs is due, and on which thread it runs, if one is watched.
    pub(crate) fn slice(&self) -> Option<(u64, i32)> {
        let due = self.due.load(Acquire);
        let thread = i32::try_from(self.thread.load(Relaxed)).unwrap_or(0);
        (due != 0).then_some((due, thread))
    }

    /// Writes the plate of `co`, unless it is written already.
    #[inline]
    pub(crate) fn write(&self, co: Co, name: &Name, site: &'static Location<'static>) {
        if co.core() != self.number {
            return self.movable.write(co, name, site);
        }
        let (bucket, index) = place(co.slot());
        let plates = self.plates[bucket].get_or_init(|| blank((FIRST as usize) << bucket));
        plates[index].write(co, name, site);
    }

    /// What the core does, seen by someone whom it has not answered for so long.
    pub(crate) fn look(&self, waited: Duration) -> Busy {
        let co = match self.running.load(Acquire) {
            NOT_RUN | LOOP => None,
            bits => Co::from_bits(bits),
        };
        let plate = co.and_then(|co| {
            if co.core() != self.number {
                return self.movable.read(co);
            }
            let (bucket, index) = place(co.slot());
            self.plates[bucket].get()?[index].read(co)
        });
        let (name, site) = plate.map_or((Name::NONE, None), |(name, site)| (name, Some(site)));
        let lasted = match self.ahead {
            Some(_) => process_now().since(Time::from_nanos(self.looked.load(Relaxed))),
            None => waited,
        };
        Busy { core: self.number, is_run: self.is_run(), co, name, site, lasted }
    }
}

/// In which bucket the plate of a slot is, and where there.
fn place(slot: u32) -> (usize, usize) {
    let place = slot + FIRST;
    let bucket = place.ilog2() - FIRST.ilog2();
    (bucket as usize, (place - (FIRST << bucket)) as usize)
}

/// What time it is in the process.
pub(crate) fn process_now() -> Time {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    Time::START + START.get_or_init(std::time::Instant::now).elapsed()
}

const WORDS: usize = 4;
/// So much of a name is on a plate; the first byte is the length.
const LENGTH: usize = WORDS * 8 - 1;

/// What other threads see of a coroutine. See the module.
pub(crate) struct Plate {
    owner: AtomicU64,
    site: SiteCell,
    name: [AtomicU64; WORDS],
}

impl Plate {
    pub(crate) fn new() -> Plate {
        Plate {
            owner: AtomicU64::new(0),
            site: SiteCell::new(),
            name: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Makes it the plate of `co`; by the core's thread.
    #[inline]
    pub(crate) fn write(&self, co: Co, name: &Name, site: &'static Location<'static>) {
        if self.owner.load(Relaxed) == co.bits() {
            return;
        }
        self.owner.store(0, Relaxed);
        if !leno_context::is_planted("plate") {
            fence(Release);
        }
        self.site.store(site);
        match name.as_str() {
            None => self.name[0].store(0, Relaxed),
            Some(name) => self.write_name(name),
        }
        self.owner.store(co.bits(), Release);
    }

    fn write_name(&self, name: &str) {
        let mut bytes = [0; WORDS * 8];
        let length = name.floor_char_boundary(LENGTH);
        bytes[0] = length as u8;
        bytes[1..=length].copy_from_slice(&name.as_bytes()[..length]);
        for (word, bytes) in self.name.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_le_bytes(bytes.try_into().expect("eight")), Relaxed);
        }
    }

    /// What is on it, if it is that of `co`; by any thread.
    pub(crate) fn read(&self, co: Co) -> Option<(Name, &'static Location<'static>)> {
        if self.owner.load(Acquire) != co.bits() {
            return None;
        }
        let site = self.site.load();
        let mut bytes = [0; WORDS * 8];
        for (word, bytes) in self.name.iter().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        fence(Acquire);
        if self.owner.load(Relaxed) != co.bits() {
            return None;
        }
        let length = usize::from(bytes[0]).min(LENGTH);
        let text = String::from_utf8_lossy(&bytes[1..=length]).into_owned();
        Some((if length == 0 { Name::NONE } else { Name::from(text) }, site?))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn window(now: Option<Time>) -> Window {
        let on_failure = crate::user::SystemHook::default();
        let title =
            Title { name: "test".into(), cores: 1, object: crate::Object::shared(), on_failure };
        Window::new(7, Arc::new(title), now)
    }

    #[test]
    fn a_window_shows_who_runs() {
        let window = window(None);
        assert!(!window.is_run());
        let (site, waited) = (Location::caller(), Duration::from_secs(1));
        for (slot, name) in [(0, "pump"), (63, "a"), (64, ""), (9_999, "b")] {
            let co = Co::new(7, slot, 1);
            window.write(co, &Name::from(name), site);
            window.runs(co);
            let busy = window.look(waited);
            assert_eq!((busy.co, busy.site, busy.lasted), (Some(co), Some(site), waited));
            assert_eq!(busy.name.as_str().unwrap_or_default(), name);
        }
        window.runs(Co::new(7, 0, 2));
        assert_eq!(window.look(waited).site, None, "the plate is another's");
        window.loops();
        assert!(window.is_run() && window.look(waited).co.is_none());
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        let (plate, co) = (Plate::new(), Co::new(0, 0, 1));
        plate.write(co, &Name::from(format!("{}ä", "x".repeat(30))), Location::caller());
        let (name, _) = plate.read(co).unwrap();
        assert_eq!(name.as_str(), Some(&*"x".repeat(30)));
    }

    #[test]
    fn plates_under_fire_are_never_torn() {
        let rounds = if cfg!(miri) { 200 } else { 200_000 };
        let window = window(None);
        let done = core::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for generation in 1..=rounds {
                    let co = Co::new(7, generation % 3, generation);
                    window.write(co, &Name::from(format!("co {}", co.bits())), Location::caller());
                    window.runs(co);
                }
                done.store(true, Release);
            });
            let mut read = 0;
            while !done.load(Acquire) || read == 0 {
                let busy = window.look(Duration::ZERO);
                if let (Some(co), Some(name)) = (busy.co, busy.name.as_str()) {
                    assert_eq!(name, format!("co {}", co.bits()));
                    read += 1;
                }
            }
        });
    }

    #[test]
    fn a_turn_lasts_since_the_core_last_looked_at_its_clock() {
        let window = window(Some(Time::START));
        window.looked(Time::START);
        let co = Co::new(7, 0, 1);
        window.runs(co);
        let first = window.look(Duration::ZERO).lasted;
        std::thread::sleep(Duration::from_millis(2));
        assert!(window.look(Duration::ZERO).lasted >= first + Duration::from_millis(2));
    }
}
