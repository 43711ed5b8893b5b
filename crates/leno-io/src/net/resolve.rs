//! Looking up the addresses of hosts.
//!
//! The system's resolver blocks, for seconds if a server is silent, and nothing can stop it. So it runs
//! on the kernel's helper threads, [`MOST`] at a time; others queue. Whoever asked waits at a channel, and
//! may give up at any time; a question that nobody waits for any more is dropped when its turn comes, and
//! the answer of one that has begun is thrown away.
//!
//! # Protocol
//! The desk's lock guards the queue and the number of helpers together. Whoever asks adds its question,
//! and starts a helper if there are fewer than [`MOST`]. A helper takes one question after the other,
//! and under the lock in which it finds none it ceases to count; so a question is never left while no
//! helper is on its way to it.

use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Mutex;

use leno_channel::{Receiver, RecvTimeoutError, Sender, Shared, shared};
use leno_context::user;

use super::address::{Endpoint, ToSocketAddrs};
use crate::memory::{Address as _, ambient};
use crate::named::naming;
use crate::user::{Locked, lock};

/// How many questions are asked at a time.
const MOST: usize = 4;

type Answer = io::Result<Vec<SocketAddr>>;

struct Question {
    host: String,
    port: u16,
    answer: Sender<Answer, Shared>,
}

#[derive(Default)]
struct Desk {
    questions: VecDeque<Question>,
    helpers: usize,
}

static DESK: Mutex<Desk> = Mutex::new(Desk { questions: VecDeque::new(), helpers: 0 });

#[track_caller]
fn desk() -> Locked<'static, Desk> {
    lock(&DESK)
}

/// Looks up the addresses of a host; what is an address already is given back.
///
/// # Blocking
/// Parks the calling coroutine, or blocks the calling thread; a future uses [`resolve_async`].
///
/// # Cancellation
/// When the calling coroutine is to exit, its stack unwinds; the answer is thrown away.
///
/// # Errors
/// When there is no such host, or it cannot be found out; in virtual time, which asks nobody outside.
///
/// # Panics
/// Inside a future that a core polls, if a host is to be looked up.
///
/// # Examples
/// ```
/// use leno_io::net::resolve;
///
/// assert_eq!(resolve("127.0.0.1:80")?, ["127.0.0.1:80".parse().unwrap()]);
/// assert!(resolve(("localhost", 80))?.iter().all(|address| address.ip().is_loopback()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn resolve(endpoint: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    match at_once(endpoint.endpoint()?)? {
        Ok(addresses) => Ok(addresses),
        Err((host, port)) if leno_kernel::current().is_none() => look_up(&host, port),
        Err((host, port)) => ask(host, port).recv().map_err(io::Error::other)?,
    }
}

/// The same, for at most `limit`.
///
/// # Errors
/// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`resolve`].
///
/// # Panics
/// As [`resolve`].
#[track_caller]
pub fn resolve_timeout(
    endpoint: impl ToSocketAddrs,
    limit: Duration,
) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = match at_once(endpoint.endpoint()?)? {
        Ok(addresses) => return Ok(addresses),
        Err(host) => host,
    };
    match ask(host.clone(), port).recv_timeout(limit) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::TimedOut(_)) => {
            let message = format!("the time is over in which to look up {host:?}");
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }
        Err(error) => Err(io::Error::other(error)),
    }
}

/// As [`resolve`], for a future on any executor.
///
/// # Errors
/// As [`resolve`].
pub async fn resolve_async(endpoint: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    let endpoint = endpoint.endpoint();
    match at_once(endpoint?)? {
        Ok(addresses) => Ok(addresses),
        Err((host, port)) => {
            let answer = ask(host, port);
            answer.recv_async().await.map_err(io::Error::other)?
        }
    }
}

/// What the first address that succeeds gives; else the error of the last.
#[track_caller]
pub(super) fn first<T>(
    addresses: Vec<SocketAddr>,
    mut attempt: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = Err(no_address());
    for address in addresses {
        last = attempt(address);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// What fails if there is nothing to try.
pub(super) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "what was given has no addresses")
}

/// What need not be looked up; else who is to be.
fn at_once(endpoint: Endpoint) -> io::Result<Result<Vec<SocketAddr>, (String, u16)>> {
    Ok(match endpoint {
        Endpoint::One(address) => Ok(vec![address]),
        Endpoint::Many(addresses) => Ok(addresses),
        Endpoint::Host(host, port) => match ambient::here()? {
            Some(here) => Ok(vec![(&*host, port).resolve(here.network())?]),
            None => {
                leno_kernel::io::permit()?;
                Err((host, port))
            }
        },
    })
}

/// Has a host looked up; the answer will come from there.
fn ask(host: String, port: u16) -> Receiver<Answer, Shared> {
    let (answer, receiver) = shared::bounded(1);
    let mut desk = desk();
    desk.questions.push_back(Question { host, port, answer });
    if desk.helpers < MOST {
        desk.helpers += 1;
        drop(desk);
        let helper = Helper;
        leno_kernel::help(move || helper.help());
    }
    receiver
}

/// A helper, which counts until it is dropped: also one that no thread was found for.
struct Helper;

impl Drop for Helper {
    fn drop(&mut self) {
        desk().helpers -= 1;
    }
}

impl Helper {
    /// Answers questions until there are no more. What wakers raise of those who asked ends nothing: the
    /// next question is another's.
    fn help(self) {
        loop {
            let mut desk = desk();
            let Some(question) = desk.questions.pop_front() else {
                // Under the lock in which there was none.
                desk.helpers -= 1;
                core::mem::forget(self);
                return;
            };
            drop(desk);
            user::dispose(user::call(move || question.answer()));
        }
    }
}

impl Question {
    /// Looks it up and wakes whoever asked, if someone still waits.
    fn answer(self) {
        if self.answer.is_closed() {
            return;
        }
        let found = user::call(|| look_up(&self.host, self.port));
        let found =
            found.unwrap_or_else(|_| Err(io::Error::other("looking up a host has panicked")));
        // There is room for it; or nobody waits any more.
        let _ = self.answer.try_send(found);
    }
}

fn look_up(host: &str, port: u16) -> Answer {
    let found = (host, port).to_socket_addrs();
    Ok(found.map_err(naming("look up", host))?.collect())
}
