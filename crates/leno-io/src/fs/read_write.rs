//! What one does with an open file, for those who can park or block.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use super::action::Action;
use super::file::File;

impl File {
    /// Reads at an offset; the cursor stays where it is.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`FileExt::read_at`](std::os::unix::fs::FileExt::read_at); `TimedOut`.
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::File;
    ///
    /// let file = File::open("/proc/self/exe")?;
    /// let mut magic = [0; 3];
    /// assert_eq!(file.read_at(&mut magic, 1)?, 3);
    /// assert_eq!(&magic, b"ELF");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.perform(Action::Read { into, at: Some(offset) })
    }

    /// Reads at an offset until `into` is full.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// [`UnexpectedEof`](ErrorKind::UnexpectedEof) when the file ends before; else as [`Self::read_at`].
    #[track_caller]
    pub fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            match self.read_at(&mut into[done..], offset.saturating_add(done as u64)) {
                Ok(0) => return Err(self.too_short("read", ErrorKind::UnexpectedEof)),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes at an offset; the cursor stays where it is.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`FileExt::write_at`](std::os::unix::fs::FileExt::write_at); `TimedOut`.
    #[inline]
    #[track_caller]
    pub fn write_at(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        self.perform(Action::Write { from, at: Some(offset) })
    }

    /// Writes all of it at an offset.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`Self::write_at`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::{self, File};
    ///
    /// # let path = std::env::temp_dir().join(format!("leno-write-at-{}", std::process::id()));
    /// let file = File::create(&path)?;
    /// file.write_all_at(b"world", 7)?;
    /// file.write_all_at(b"Hello, ", 0)?;
    /// assert_eq!(fs::read(&path)?, b"Hello, world");
    /// # fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn write_all_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < from.len() {
            match self.write_at(&from[done..], offset.saturating_add(done as u64)) {
                Ok(0) => return Err(self.too_short("write to", ErrorKind::WriteZero)),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn too_short(&self, what: &'static str, kind: ErrorKind) -> io::Error {
        crate::named::named(what, &self.path, kind.into())
    }

    /// Has all that was written reach the disk, and what the system knows about the file too.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::sync_all`]; `TimedOut`.
    #[track_caller]
    pub fn sync_all(&self) -> io::Result<()> {
        self.perform(Action::Sync { data_only: false }).map(drop)
    }

    /// The same without what is not needed to read it again.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::sync_data`]; `TimedOut`.
    #[track_caller]
    pub fn sync_data(&self) -> io::Result<()> {
        self.perform(Action::Sync { data_only: true }).map(drop)
    }
}

impl Read for &File {
    #[inline]
    #[track_caller]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.perform(Action::Read { into, at: None })
    }

    #[track_caller]
    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.perform(Action::Scatter { into })
    }
}

impl Read for File {
    #[inline]
    #[track_caller]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&*self).read(into)
    }

    #[track_caller]
    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(into)
    }
}

impl Write for &File {
    #[inline]
    #[track_caller]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.perform(Action::Write { from, at: None })
    }

    #[track_caller]
    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.perform(Action::Gather { from })
    }

    /// Nothing is kept back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for File {
    #[inline]
    #[track_caller]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        (&*self).write(from)
    }

    #[track_caller]
    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Moves the cursor, which takes no time.
impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self.inner).seek(to).map_err(crate::named::naming("seek in", &self.path))
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
