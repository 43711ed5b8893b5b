//! Which posts are in a chord.

use std::sync::Arc;

use super::post::{Bell, Post, Queue};

/// The posts of a chord: `()`, `&post`, or a tuple of up to four of those, in which one may stand more than
/// once. Nothing else is one.
///
/// # Examples
/// ```
/// use leno_flexible::{System, synchroniser::Chords};
///
/// let system = System::new();
/// let water = Chords::new(&system, "water");
/// let (hydrogen, oxygen) = (water.post::<u32>("hydrogen"), water.post::<char>("oxygen"));
/// let molecule = water.enquiry::<(), String>("molecule");
/// water.chord(&molecule, (&hydrogen, &hydrogen, &oxygen), |(), (a, b, c)| format!("{a}{b}{c}"));
/// (hydrogen.send(1)?, oxygen.send('x')?);
/// hydrogen.send(2)?;
/// assert_eq!(molecule.call(())?, "12x");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Header {
    /// What the body of the chord gets: the message, or a tuple of them.
    type Messages: Send + 'static;

    #[doc(hidden)]
    fn join(self) -> Joined<Self::Messages>;
}

/// The posts of a chord, of which nothing can be seen.
#[doc(hidden)]
pub struct Joined<M> {
    pub(super) parts: Vec<Part>,
    take: Box<dyn Fn() -> M + Send + Sync>,
}

/// A post, whatever it carries.
pub(super) struct Part {
    pub(super) name: Arc<str>,
    pub(super) bell: Arc<Bell>,
    queue: Arc<dyn Counted>,
}

trait Counted: Send + Sync {
    fn count(&self) -> usize;
}

impl<T: Send> Counted for Queue<T> {
    fn count(&self) -> usize {
        self.len()
    }
}

impl<M> Joined<M> {
    /// Whether there are as many messages as are needed.
    pub(super) fn is_ready(&self) -> bool {
        self.parts.iter().all(|part| {
            let is_it = |other: &&Part| Arc::ptr_eq(&other.queue, &part.queue);
            part.queue.count() >= self.parts.iter().filter(is_it).count()
        })
    }

    /// Takes them; they are there.
    pub(super) fn take(&self) -> M {
        (self.take)()
    }
}

impl Header for () {
    type Messages = ();

    fn join(self) -> Joined<()> {
        Joined { parts: Vec::new(), take: Box::new(|| ()) }
    }
}

impl<T: Send + 'static> Header for &Post<T> {
    type Messages = T;

    fn join(self) -> Joined<T> {
        let queue = self.queue.clone();
        let part =
            Part { name: queue.name.clone(), bell: queue.bell.clone(), queue: queue.clone() };
        Joined { parts: vec![part], take: Box::new(move || queue.take()) }
    }
}

macro_rules! tuples {
    ($($post:ident)+) => {
        impl<$($post: Send + 'static),+> Header for ($(&Post<$post>,)+) {
            type Messages = ($($post,)+);

            #[allow(non_snake_case, reason = "one name for a type and what is of it")]
            fn join(self) -> Joined<Self::Messages> {
                let ($($post,)+) = self;
                $(let mut $post = $post.join();)+
                let mut parts = Vec::new();
                $(parts.append(&mut $post.parts);)+
                Joined { parts, take: Box::new(move || ($($post.take(),)+)) }
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
