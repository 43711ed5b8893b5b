//! A channel in both directions: a request and its answer.

use core::fmt;

use leno_kernel::layer::ledger::Knower;

use crate::bind::{Bound, Ends};
use crate::{Cx, In, Out, channel};

/// The asking side of a duplex channel. Clones ask the same server.
pub struct Client<Q, A> {
    requests: Out<Q>,
    answers: In<A>,
}

/// The answering side of a duplex channel. There is one, and it answers one request after the other,
/// so that each answer reaches whoever asked.
pub struct Server<Q, A> {
    requests: In<Q>,
    answers: Out<A>,
}

/// A duplex channel: used as a function by its clients, whose body is another fibre.
///
/// # Examples
/// ```
/// use leno_fibre::{duplex, run};
///
/// run(|cx| {
///     let (client, server) = duplex::<u32, u32>();
///     cx.spawn(move |cx| server.serve(cx, |n| n + 1));
///     assert_eq!(client.call(cx, 41), 42);
/// });
/// ```
pub fn duplex<Q, A>() -> (Client<Q, A>, Server<Q, A>) {
    let ((requests_out, requests_in), (answers_out, answers_in)) = (channel(), channel());
    let client = Client { requests: requests_out, answers: answers_in };
    (client, Server { requests: requests_in, answers: answers_out })
}

impl<Q, A> Client<Q, A> {
    /// Asks, and waits for the answer.
    ///
    /// # Blocking
    /// Until the server has answered.
    ///
    /// # Cancellation
    /// If nobody can ever answer, the fibre ends, as by [`In::read`] and [`Out::write`].
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn call(&self, cx: &Cx<'_>, request: Q) -> A {
        self.requests.write(cx, request);
        self.answers.read(cx)
    }
}

impl<Q, A> Server<Q, A> {
    /// Answers one request.
    ///
    /// # Blocking
    /// Until one comes, and its answer is taken.
    ///
    /// # Cancellation
    /// If nobody can ever ask, the fibre ends, as by [`In::read`] and [`Out::write`].
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn serve_one(&self, cx: &Cx<'_>, answer: impl FnOnce(Q) -> A) {
        let request = self.requests.read(cx);
        self.answers.write(cx, answer(request));
    }

    /// Answers for ever; the fibre ends when nobody can ask any more.
    ///
    /// # Blocking
    /// As [`Self::serve_one`], again and again.
    ///
    /// # Cancellation
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn serve(&self, cx: &Cx<'_>, mut answer: impl FnMut(Q) -> A) -> ! {
        loop {
            self.serve_one(cx, &mut answer);
        }
    }
}

impl<Q, A> Clone for Client<Q, A> {
    /// A free one.
    fn clone(&self) -> Client<Q, A> {
        Client { requests: self.requests.clone(), answers: self.answers.clone() }
    }
}

/// A [`Client`] that is bound to the fibre `'f`.
pub type BoundClient<'f, Q, A> = Bound<'f, Client<Q, A>>;

/// A [`Server`] that is bound to the fibre `'f`.
pub type BoundServer<'f, Q, A> = Bound<'f, Server<Q, A>>;

macro_rules! side {
    ($side:ident) => {
        impl<Q: 'static, A: 'static> Ends for $side<Q, A> {
            fn pass_to(&mut self, knower: Knower) {
                self.requests.pass_to(knower);
                self.answers.pass_to(knower);
            }
        }

        impl<Q, A> fmt::Debug for $side<Q, A> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (requests, answers) = (self.requests.label(), self.answers.label());
                write!(f, "{}({requests}, {answers})", stringify!($side))
            }
        }
    };
}

side!(Client);
side!(Server);
