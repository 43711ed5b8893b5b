//! How the rest of the process reaches a core: a mailbox and a bell.
//!
//! Every core has a number, and a mailbox that is found by it. Mailboxes are never freed, so a
//! [`Co`] may be woken by anyone at any time; a message for a coroutine that is gone names nobody.
//! When a core ends, its number and mailbox serve another one later. Ids stay unique all the same,
//! because the new core's generations begin where the old one's ended.
//!
//! A team has a number, too, for its movable futures. A message for one of these is answered on the
//! spot, by whoever sends it.
//!
//! Whoever rings for a core may do so when that core has ended and another has its number. That is
//! harmless: a core that is woken for nothing looks, and sleeps again. But in a world it would be a step
//! that nobody has decided. So a number that was used in a world serves only worlds, and another one only
//! when the first has ended; messages for those who are gone are not delivered; and bells begin unrung.

use core::cell::RefCell;
use core::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock, Weak};

use crate::bell::Bell;
use crate::co::{CORES, GENERATIONS};
use crate::core::Core;
use crate::sync::{
    AtomicBool, AtomicUsize, Mutex,
    Ordering::{Relaxed, SeqCst},
    lock,
};
use crate::system::Team;
use crate::window::Window;
use crate::{Co, CoresError, user, world};

/// Which world a core is in that is in none.
pub(crate) const NO_WORLD: u32 = 0;

/// What is sent to a core.
pub(crate) enum Message {
    /// Unpark this coroutine.
    Unpark(Co),
    /// Make this coroutine exit.
    Cancel(Co),
    /// Do this on the core.
    Run(Box<dyn FnOnce(&Core) + Send>),
}

impl Message {
    /// Whether it is for one whose core began before this generation did.
    fn is_before(&self, generation: u32) -> bool {
        match self {
            Message::Unpark(co) | Message::Cancel(co) => co.generation() < generation,
            Message::Run(_) => false,
        }
    }
}

/// See the module.
pub(crate) struct Mailbox {
    pub(crate) number: u32,
    pub(crate) bell: Bell,
    inner: Mutex<Inner>,
    sent: AtomicUsize,
    /// Which world its core is in, or none,
    world: AtomicU32,
    /// and whether a thread that is not has written to it.
    is_strayed: AtomicBool,
    /// What others see of the core, while there is one.
    window: Mutex<Option<Arc<Window>>>,
}

struct Inner {
    messages: Vec<Message>,
    owner: Owner,
    /// The generation that the next core with this number begins with.
    generation: u32,
}

/// Who has a number.
enum Owner {
    Nobody,
    Core,
    Team(Weak<Team>),
}

impl Mailbox {
    pub(crate) fn new(number: u32) -> Mailbox {
        Mailbox {
            number,
            bell: Bell::new(),
            inner: Mutex::new(Inner { messages: Vec::new(), owner: Owner::Nobody, generation: 1 }),
            sent: AtomicUsize::new(0),
            world: AtomicU32::new(NO_WORLD),
            is_strayed: AtomicBool::new(false),
            window: Mutex::new(None),
        }
    }

    #[cfg(all(test, loom))]
    pub(crate) fn set_open(&self) {
        lock(&self.inner).owner = Owner::Core;
    }

    /// Sends a message. If the core has ended, it is dropped.
    pub(crate) fn send(&self, message: Message) {
        let mut inner = lock(&self.inner);
        match &inner.owner {
            _ if message.is_before(inner.generation) => return drop(inner),
            Owner::Core => {}
            Owner::Nobody => {
                drop(inner);
                return drop(message);
            }
            Owner::Team(team) => {
                let team = team.upgrade();
                drop(inner);
                self.look_for_strays(&message);
                return team.into_iter().for_each(|team| team.answer(&message));
            }
        }
        self.look_for_strays(&message);
        self.sent.fetch_add(1, SeqCst);
        inner.messages.push(message);
        drop(inner);
        self.bell.ring();
    }

    /// Whether `message` is of a thread outside of the core's world, and wakes someone.
    fn look_for_strays(&self, message: &Message) {
        if !matches!(message, Message::Run(_)) {
            self.strays();
        }
    }

    fn strays(&self) {
        if self.world.load(Relaxed) != NO_WORLD && !self.is_of_this_world() {
            self.is_strayed.store(true, SeqCst);
        }
    }

    /// Makes a number that was taken a team's.
    pub(crate) fn give_to(&self, team: &Arc<Team>) {
        lock(&self.inner).owner = Owner::Team(Arc::downgrade(team));
    }

    /// The team that has this number, if one has, to wake this one of its futures.
    pub(crate) fn team_to_wake(&self, co: Co) -> Option<Arc<Team>> {
        let inner = lock(&self.inner);
        let team = match &inner.owner {
            Owner::Team(team) if co.generation() >= inner.generation => team.upgrade(),
            _ => None,
        };
        drop(inner);
        if team.is_some() {
            self.strays();
        }
        team
    }

    /// The team that has this number, if one has.
    pub(crate) fn team(&self) -> Option<Arc<Team>> {
        match &lock(&self.inner).owner {
            Owner::Team(team) => team.upgrade(),
            Owner::Nobody | Owner::Core => None,
        }
    }

    /// Whether its core and the calling code are in the same world, or neither is in one.
    pub(crate) fn is_of_this_world(&self) -> bool {
        self.world.load(Relaxed) == world::number()
    }

    /// Whether a thread has written that is not of its core's world.
    pub(crate) fn has_strayed(&self) -> bool {
        self.is_strayed.load(SeqCst)
    }

    /// Lets others see the core.
    pub(crate) fn show(&self, window: Arc<Window>) {
        let old = lock(&self.window).replace(window);
        drop(old);
    }

    pub(crate) fn window(&self) -> Option<Arc<Window>> {
        lock(&self.window).clone()
    }

    /// How many messages have been sent, since the process began.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(SeqCst)
    }

    /// Swaps all messages that have arrived into `empty`.
    pub(crate) fn receive(&self, empty: &mut Vec<Message>) {
        debug_assert!(empty.is_empty());
        core::mem::swap(&mut lock(&self.inner).messages, empty);
    }
}

static MAILBOXES: [OnceLock<Box<[OnceLock<Mailbox>]>>; CHUNKS] =
    [const { OnceLock::new() }; CHUNKS];
const CHUNK: usize = 256;
const CHUNKS: usize = CORES as usize / CHUNK;

static NUMBERS: std::sync::Mutex<Numbers> =
    std::sync::Mutex::new(Numbers { free: Vec::new(), free_in_worlds: Vec::new(), next: 0 });

fn numbers() -> user::Locked<'static, Numbers> {
    user::lock(&NUMBERS)
}

struct Numbers {
    free: Vec<u32>,
    free_in_worlds: Vec<u32>,
    next: u32,
}

impl Numbers {
    fn take(&mut self, in_world: bool) -> Result<u32, CoresError> {
        let free = if in_world { &mut self.free_in_worlds } else { &mut self.free };
        match free.pop() {
            Some(number) => Ok(number),
            None if self.next == CORES => Err(CoresError { limit: CORES }),
            None => {
                self.next += 1;
                Ok(self.next - 1)
            }
        }
    }
}

/// The numbers of cores of a world that have ended: for others of that world, until it ends itself.
#[derive(Default)]
pub(crate) struct Shelf(RefCell<Vec<u32>>);

impl Drop for Shelf {
    fn drop(&mut self) {
        numbers().free_in_worlds.append(self.0.get_mut());
    }
}

/// The mailbox of the core with this number, which exists.
#[inline]
pub(crate) fn of(core: u32) -> &'static Mailbox {
    let chunk = MAILBOXES[core as usize / CHUNK]
        .get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
    chunk[core as usize % CHUNK].get_or_init(|| Mailbox::new(core))
}

/// A mailbox for a new core.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    pub(crate) mailbox: &'static Mailbox,
    /// What the core's ids begin with.
    pub(crate) generation: u32,
    /// How many messages were sent to those who had it before.
    pub(crate) sent: usize,
}

impl Address {
    /// Gives it back unused.
    pub(crate) fn give_back(self) {
        close(self.mailbox, self.generation);
    }
}

/// Takes a mailbox for a new core, in the calling code's world, if it is in one.
pub(crate) fn open() -> Result<Address, CoresError> {
    open_in(|_| world::number())
}

/// The same for the core of a world.
pub(crate) fn open_for_world() -> Result<Address, CoresError> {
    open_in(|number| number + 1)
}

/// `world` says which world the core with this number is in.
fn open_in(world: impl Fn(u32) -> u32) -> Result<Address, CoresError> {
    loop {
        let shelved = world::with_shelf(|shelf| shelf.0.borrow_mut().pop());
        let number = match shelved.flatten() {
            Some(number) => number,
            None => numbers().take(world(0) != NO_WORLD)?,
        };
        let mailbox = of(number);
        let mut inner = lock(&mailbox.inner);
        // A number whose generations are used up is not used again.
        if inner.generation < GENERATIONS / 2 {
            inner.owner = Owner::Core;
            mailbox.bell.reset();
            mailbox.world.store(world(number), SeqCst);
            mailbox.is_strayed.store(false, SeqCst);
            // Nobody can send before this is open, and the core may begin only after some have.
            let sent = mailbox.sent();
            return Ok(Address { mailbox, generation: inner.generation, sent });
        }
    }
}

/// Gives a mailbox back; `generation` is greater than any that was used.
pub(crate) fn close(mailbox: &'static Mailbox, generation: u32) {
    let window = lock(&mailbox.window).take();
    drop(window);
    let mut inner = lock(&mailbox.inner);
    inner.owner = Owner::Nobody;
    inner.generation = generation;
    let left = core::mem::take(&mut inner.messages);
    drop(inner);
    drop(left);
    let number = mailbox.number;
    if mailbox.world.load(SeqCst) == NO_WORLD {
        numbers().free.push(number);
    } else if world::with_shelf(|shelf| shelf.0.borrow_mut().push(number)).is_none() {
        numbers().free_in_worlds.push(number);
    }
}

/// Every team that there is in the calling code's world, or outside all worlds.
pub(crate) fn teams() -> Vec<Arc<Team>> {
    let next = numbers().next;
    (0..next)
        .map(of)
        .filter(|mailbox| mailbox.is_of_this_world())
        .filter_map(Mailbox::team)
        .collect()
}

/// Every core that there is, with its window.
pub(crate) fn with_windows() -> Vec<(&'static Mailbox, Arc<Window>)> {
    let next = numbers().next;
    let seen = |mailbox: &'static Mailbox| mailbox.window().map(|window| (mailbox, window));
    (0..next).map(of).filter_map(seen).collect()
}
