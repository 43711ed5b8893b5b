//! Downloads many things, a few at a time, and shows how far it is.
//!
//! Each of a few workers takes the next job when it is done with one. They run on one core, so what they
//! share is a plain `RefCell`. What they have done they tell over a channel to whoever draws the bar, who
//! is slow now and then and holds up nobody, since it draws ten times a second and no more.

mod bar;

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use leno::channel::Sender;
use leno::kernel::scope;

use crate::http::Client;

pub use bar::{Bar, show};

/// Bytes that are read at once.
const PART: usize = 16 * 1024;

/// Something to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Where.
    pub server: SocketAddr,
    /// What.
    pub target: String,
}

/// What a worker tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A download has begun, of so many bytes, if that is known.
    Begun(Option<u64>),
    /// So many bytes more.
    Got(u64),
    /// A download is over.
    Done {
        /// Whether all of it is there.
        is_whole: bool,
    },
}

/// Downloads everything, so many `at_once`, each into what `open` gives for it. Returns the lengths, in
/// the order of the jobs.
///
/// # Panics
/// Outside of a coroutine with a stack.
pub fn download<W: Write>(
    jobs: &[Job],
    at_once: usize,
    open: impl Fn(&Job) -> io::Result<W>,
    news: &Sender<News>,
) -> Vec<io::Result<u64>> {
    let queue = RefCell::new(jobs.iter().enumerate());
    let results = RefCell::new(Vec::new());
    scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    // A statement of its own, so that nothing is borrowed meanwhile.
                    let Some((number, job)) = queue.borrow_mut().next() else { break };
                    let result = fetch(job, &open, news);
                    // If nobody listens, nobody cares.
                    let _unheard = news.send(News::Done { is_whole: result.is_ok() });
                    results.borrow_mut().push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn fetch<W: Write>(
    job: &Job,
    open: impl Fn(&Job) -> io::Result<W>,
    news: &Sender<News>,
) -> io::Result<u64> {
    let mut client = Client::connect(job.server)?;
    let mut answer = client.get(&job.target)?;
    if answer.status != 200 {
        return Err(io::Error::other(format!("{}: status {}", job.target, answer.status)));
    }
    let mut file = open(job)?;
    let _unheard = news.send(News::Begun(answer.body.length()));
    let (mut part, mut sum) = (vec![0; PART], 0);
    loop {
        match answer.body.read(&mut part)? {
            0 => break,
            count => {
                file.write_all(&part[..count])?;
                sum += count as u64;
                let _unheard = news.send(News::Got(count as u64));
            }
        }
    }
    file.flush()?;
    Ok(sum)
}
