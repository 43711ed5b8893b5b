//! What sockets of a kind have: written once, and given to each by a macro, since what differs is a type.
//!
//! A socket has `shared`, with its `inner` and, unless it listens, its `limits`; the inner one has the
//! operations, which do not wait.

mod byte_stream;
mod datagrams;
mod handle;
mod listener;
mod two_way;

use std::io;

pub(super) use byte_stream::byte_stream;
pub(super) use datagrams::datagrams;
pub(super) use handle::{handle, hops};
pub(super) use listener::listener;
pub(super) use two_way::two_way;

use super::inner::Tried;

/// As many parts does the system take in one call; those beyond are left for the next.
const PARTS: usize = 1024;
/// As many bytes does the system move in one call at least, if there are so many.
const BYTES: usize = 1 << 30;

/// Whether a read or a write that moved fewer bytes than `asked` has used up what there was. One that
/// moved none has found the end, which stays.
pub(super) fn spent(asked: usize, moved: io::Result<usize>) -> Tried<usize> {
    let moved = moved?;
    Ok((moved, moved > 0 && moved < asked && asked <= BYTES))
}

/// What has used up nothing.
pub(super) fn more<R>(result: io::Result<R>) -> Tried<R> {
    Ok((result?, false))
}

/// The same for a vectored one.
pub(super) fn spent_parts<P: core::ops::Deref<Target = [u8]>>(
    parts: &[P],
    moved: io::Result<usize>,
) -> Tried<usize> {
    let asked = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()));
    spent(if parts.len() > PARTS { usize::MAX } else { asked }, moved)
}
