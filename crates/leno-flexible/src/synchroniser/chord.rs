//! Chords: code that runs when several messages are there. (Dovland 2006, 7.2.)
//!
//! A *post* is an asynchronous method: sending to it never waits, and what nobody takes yet is kept. An
//! *enquiry* is a synchronous one: whoever calls it waits for its answer. A *chord* joins an enquiry with
//! posts, or posts alone, and has a body, which runs when all of them have been called.
//!
//! ```
//! use leno_flexible::{System, synchroniser::Chords};
//!
//! let system = System::new();
//! // string Get() & async Put(string s) { return s; }
//! let buffer = Chords::new(&system, "buffer");
//! let (get, put) = (buffer.enquiry::<(), String>("get"), buffer.post::<String>("put"));
//! buffer.chord(&get, &put, |(), s| s);
//!
//! put.send("a".to_owned())?;
//! assert_eq!(get.call(())?, "a");
//! let other = put.clone();
//! let late = std::thread::spawn(move || other.send("b".to_owned()).is_ok());
//! assert_eq!(get.call(())?, "b"); // waits for it
//! assert!(late.join().unwrap());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Posts can carry the state of an object, of which there is one message at any time:
//!
//! ```
//! use leno_flexible::{System, synchroniser::Chords};
//!
//! let system = System::new();
//! let counter = Chords::new(&system, "counter");
//! let (next, count) = (counter.enquiry::<(), u32>("next"), counter.post::<u32>("count"));
//! let again = count.clone();
//! counter.chord(&next, &count, move |(), n| {
//!     again.send(n + 1).expect("the system is there");
//!     n
//! });
//! count.send(7)?;
//! assert_eq!((next.call(())?, next.call(())?), (7, 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: a message is taken by one chord, together with all others of it, or by none; messages of a post
//! are taken in the order in which they were sent, callers of an enquiry are served in order of arrival.
//!
//! How: an enquiry is a desk, and chords of posts alone are looked at by one more coroutine, the *conductor*. Only
//! they take messages, and at most one of them is active: so what one has seen to be there, it can take.

mod enquiry;
mod header;
mod post;

use core::fmt;
use std::sync::{Arc, Mutex};

pub use self::enquiry::Enquiry;
pub use self::header::Header;
use self::header::Joined;
use self::post::Bell;
pub use self::post::{Post, PostError};
use super::ground::{Ground, Site};
use crate::{AsyncBuilder, AsyncMe, Builder, Flexible, Me};
use leno_kernel::layer::user::lock;

/// A chord of posts alone: if all are there, what it does with them.
type Reaction = Arc<dyn Fn() -> Option<Box<dyn FnOnce() + Send>> + Send + Sync>;

/// Posts, enquiries and the chords that join them; see the [module](self).
///
/// It is a handle: cloning it gives another one for the same chords.
#[derive(Clone)]
pub struct Chords {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    site: Site,
    name: Arc<str>,
    bell: Arc<Bell>,
    reactions: Arc<Mutex<Vec<Reaction>>>,
    conductor: Flexible<(), ()>,
}

impl Chords {
    /// No chords yet; and a coroutine, `NAME.conductor`, for those of posts alone.
    pub fn new(system: &impl Ground, name: &str) -> Chords {
        let bell = Arc::new(Bell::default());
        let reactions: Arc<Mutex<Vec<Reaction>>> = Arc::default();
        let part: Arc<str> = format!("{name}.chord").into();
        let site = system.site();
        let conductor = conduct(&site, name, part, reactions.clone(), bell.clone());
        Chords { inner: Arc::new(Inner { site, name: name.into(), bell, reactions, conductor }) }
    }

    /// Another asynchronous method, which belongs to no chord yet.
    pub fn post<T: Send + 'static>(&self, name: &str) -> Post<T> {
        let name = format!("{}.{name}", self.inner.name).into();
        Post::new(name, self.inner.bell.clone(), self.inner.conductor.clone())
    }

    /// Another synchronous method: a coroutine, `NAME.ENQUIRY`. It belongs to no chord yet.
    pub fn enquiry<A: Send + 'static, R: Send + 'static>(&self, name: &str) -> Enquiry<A, R> {
        let name: Arc<str> = format!("{}.{name}", self.inner.name).into();
        Enquiry::new(name, &self.inner)
    }

    /// Joins an enquiry and posts: when the enquiry is called and all the posts have a message, `body` runs
    /// with them, and answers. `posts` is `&post`, a tuple of such, or `()`.
    ///
    /// Of several chords of one enquiry, the first that can run does: those that are declared earlier go
    /// first.
    ///
    /// If `body` panics, whoever called gets that; its messages are gone.
    ///
    /// # Panics
    /// When the enquiry or a post is not of these chords.
    pub fn chord<A: Send + 'static, R: Send + 'static, H: Header>(
        &self,
        enquiry: &Enquiry<A, R>,
        posts: H,
        body: impl Fn(A, H::Messages) -> R + Send + Sync + 'static,
    ) {
        self.check(enquiry.bell(), enquiry.name());
        enquiry.add(self.own(posts), body);
    }

    /// Joins posts alone: when all of them have a message, `body` runs with them, for nobody. `posts` is
    /// `&post`, or a tuple of such.
    ///
    /// If `body` panics, [`SystemBuilder::on_failure`](crate::SystemBuilder::on_failure) or
    /// [`System::failures`](crate::System::failures) has that.
    ///
    /// # Panics
    /// When `posts` is `()`, which would run for ever, or when one is not of these chords.
    pub fn react<H: Header>(&self, posts: H, body: impl Fn(H::Messages) + Send + Sync + 'static) {
        let (posts, body) = (self.own(posts), Arc::new(body));
        let name = &self.inner.name;
        assert!(!posts.parts.is_empty(), "a chord of '{name}' has no post: it would run for ever");
        let reaction: Reaction = Arc::new(move || {
            let messages = posts.is_ready().then(|| posts.take())?;
            let body = body.clone();
            Some(Box::new(move || body(messages)))
        });
        lock(&self.inner.reactions).push(reaction);
        self.inner.bell.set_reacts();
        let _ = self.inner.conductor.prod();
    }

    fn own<H: Header>(&self, posts: H) -> Joined<H::Messages> {
        let posts = posts.join();
        posts.parts.iter().for_each(|part| self.check(&part.bell, &part.name));
        posts
    }

    fn check(&self, bell: &Arc<Bell>, name: &Arc<str>) {
        let own = &self.inner.name;
        let is_own = Arc::ptr_eq(bell, &self.inner.bell);
        assert!(is_own, "'{name}' cannot be in a chord of '{own}', where it was not made");
    }
}

/// Looks at chords of posts alone. Their bodies run in coroutines of their own, as they may wait, or panic.
fn conduct(
    site: &Site,
    name: &str,
    part: Arc<str>,
    reactions: Arc<Mutex<Vec<Reaction>>>,
    bell: Arc<Bell>,
) -> Flexible<(), ()> {
    let name = format!("{name}.conductor").into();
    if site.is_threadless {
        let builder = AsyncBuilder::new(site.shared.clone(), name);
        return builder.create(move |mut me: AsyncMe<(), ()>| async move {
            while !bell.is_over() {
                match first(&reactions) {
                    Some(body) => {
                        let body = move |_: AsyncMe<(), ()>| async move { body() };
                        let _ = me.create(part.clone(), body).kick();
                    }
                    None => me.passivate().await,
                }
            }
        });
    }
    Builder::new(site.shared.clone(), name).create(move |me: &mut Me<(), ()>| {
        while !bell.is_over() {
            match first(&reactions) {
                Some(body) => {
                    let _ = me.create(part.clone(), move |_: &mut Me<(), ()>| body()).kick();
                }
                None => me.passivate(),
            }
        }
    })
}

/// The first reaction that can run.
fn first(reactions: &Mutex<Vec<Reaction>>) -> Option<Box<dyn FnOnce() + Send>> {
    let all = lock(reactions).clone();
    all.iter().find_map(|reaction| reaction())
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bell.end();
        let _ = self.conductor.kick();
    }
}

impl fmt::Debug for Chords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chords({})", self.inner.name)
    }
}
