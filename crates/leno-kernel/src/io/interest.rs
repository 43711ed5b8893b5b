//! What one waits for, and what is known of it.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// What someone waits for at a descriptor: to read, to write, or either of them.
///
/// # Examples
/// ```
/// use leno_kernel::io::Interest;
///
/// let either = Interest::READ | Interest::WRITE;
/// assert_eq!(either.to_string(), "read or write");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// To read: data, a connection to accept, the end of the stream, an error.
    pub const READ: Interest = Interest(1);
    /// To write: room, a connection made, nobody left to read, an error.
    pub const WRITE: Interest = Interest(2);

    pub(crate) fn flags(self) -> Flags {
        Flags(self.0)
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }
}

impl fmt::Display for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Interest::READ => "read",
            Interest::WRITE => "write",
            _ => "read or write",
        })
    }
}

/// What the system has told of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    pub(crate) const NONE: Flags = Flags(0);
    pub(crate) const READ: Flags = Flags(1);
    pub(crate) const WRITE: Flags = Flags(2);
    /// Nothing more will come, or an error waits: reading never has to wait any more.
    pub(crate) const READ_END: Flags = Flags(4);
    /// Nobody will read, or an error waits: writing never has to wait any more.
    pub(crate) const WRITE_END: Flags = Flags(8);

    /// Urgent data of TCP has come, which splits reads. No readiness; see the beacon.
    pub(crate) const URGENT: Flags = Flags(64);

    /// Whether any of those holds.
    #[inline(always)]
    pub(crate) fn has(self, any_of: Flags) -> bool {
        self.0 & any_of.0 != 0
    }

    /// For each direction, the flag that says it has ended.
    pub(crate) fn ends(self) -> Flags {
        Flags((self.0 & 3) << 2)
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// What is known of a descriptor, and as of when: an operation is worth trying. It may turn out that
/// it is not, because others use the descriptor too; see
/// [`Descriptor::clear`](super::Descriptor::clear).
///
/// # Examples
/// ```
/// use leno_kernel::io::{Descriptor, Interest};
/// use std::os::unix::net::UnixStream;
///
/// let (near, far) = UnixStream::pair()?;
/// let near = Descriptor::new(near)?;
/// drop(far);
/// let readiness = near.wait(Interest::READ)?;
/// assert!(readiness.is_readable() && readiness.is_read_end());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    pub(crate) flags: Flags,
    /// How many events there had been.
    pub(crate) tick: u64,
}

impl Readiness {
    /// Whether reading is worth a try.
    pub fn is_readable(self) -> bool {
        self.flags.has(Flags::READ)
    }

    /// Whether writing is worth a try.
    pub fn is_writable(self) -> bool {
        self.flags.has(Flags::WRITE)
    }

    /// Whether reading will never have to wait again: after what is still there comes the end, or an
    /// error.
    pub fn is_read_end(self) -> bool {
        self.flags.has(Flags::READ_END)
    }

    /// Whether writing will never have to wait again: nobody reads, or there is an error.
    pub fn is_write_end(self) -> bool {
        self.flags.has(Flags::WRITE_END)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness")
            .field("readable", &self.is_readable())
            .field("writable", &self.is_writable())
            .field("read_end", &self.is_read_end())
            .field("write_end", &self.is_write_end())
            .finish()
    }
}
