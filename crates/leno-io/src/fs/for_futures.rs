//! What one does with an open file, for futures.
//!
//! What they read or write goes through memory of the operation's own, up to 256 KiB at a time: a future
//! may be dropped, or forgotten, while the system still works on it.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
#[allow(unused_imports, reason = "for the documentation")]
use std::io::{Read, Write};

use super::action::Action;
use super::file::File;
use crate::named::naming;

impl File {
    /// As [`Read::read`]. When the future is dropped, the system is asked to stop; the cursor may have
    /// moved.
    ///
    /// # Errors
    /// As [`Read::read`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::File;
    /// use leno_kernel::block_on;
    ///
    /// let text = block_on(async {
    ///     let file = File::open_async("/proc/self/comm").await?;
    ///     let mut text = Vec::new();
    ///     file.read_to_end_async(&mut text).await?;
    ///     Ok::<_, std::io::Error>(text)
    /// })?;
    /// assert!(text.ends_with(b"\n"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn read_async(&self, into: &mut [u8]) -> io::Result<usize> {
        self.perform_async(Action::Read { into, at: None }).await
    }

    /// As [`Self::read_at`].
    ///
    /// # Errors
    /// As [`Self::read_at`].
    pub async fn read_at_async(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.perform_async(Action::Read { into, at: Some(offset) }).await
    }

    /// As [`Read::read_vectored`].
    ///
    /// # Errors
    /// As [`Read::read`].
    pub async fn read_vectored_async(&self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.perform_async(Action::Scatter { into }).await
    }

    /// As [`Read::read_exact`].
    ///
    /// # Errors
    /// As [`Self::read_exact_at`].
    pub async fn read_exact_async(&self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_async(into).await {
                Ok(0) => return Err(self.too_short("read", ErrorKind::UnexpectedEof)),
                Ok(count) => into = &mut into[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// As [`Self::read_exact_at`].
    ///
    /// # Errors
    /// As [`Self::read_exact_at`].
    pub async fn read_exact_at_async(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            match self.read_at_async(&mut into[done..], offset.saturating_add(done as u64)).await {
                Ok(0) => return Err(self.too_short("read", ErrorKind::UnexpectedEof)),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// As [`Read::read_to_string`].
    ///
    /// # Errors
    /// [`InvalidData`](ErrorKind::InvalidData) if what is read is no text, which is lost then; else as
    /// [`Read::read`].
    pub async fn read_to_string_async(&self, all: &mut String) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.read_to_end_async(&mut bytes).await?;
        crate::text::append(all, bytes).map_err(naming("read", &self.path))
    }

    /// As [`Read::read_to_end`].
    ///
    /// # Errors
    /// As [`Read::read`]; what was read before is in `all`.
    pub async fn read_to_end_async(&self, all: &mut Vec<u8>) -> io::Result<usize> {
        let before = all.len();
        let mut room = 1 << 12;
        loop {
            let end = all.len();
            all.resize(end + room, 0);
            let result = self.read_async(&mut all[end..]).await;
            all.truncate(end + result.as_ref().map_or(0, |&count| count));
            match result {
                Ok(0) => return Ok(all.len() - before),
                Ok(count) if count == room => room = (room * 2).min(super::buffer::MOST),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// As [`Write::write`]. When the future is dropped, the system is asked to stop; what it had begun
    /// may be written.
    ///
    /// # Errors
    /// As [`Write::write`].
    pub async fn write_async(&self, from: &[u8]) -> io::Result<usize> {
        self.perform_async(Action::Write { from, at: None }).await
    }

    /// As [`Write::write_vectored`].
    ///
    /// # Errors
    /// As [`Write::write`].
    pub async fn write_vectored_async(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.perform_async(Action::Gather { from }).await
    }

    /// As [`Write::write_all`].
    ///
    /// # Errors
    /// As [`Write::write_all`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::{self, File};
    /// use leno_kernel::block_on;
    ///
    /// # let path = std::env::temp_dir().join(format!("leno-async-{}", std::process::id()));
    /// block_on(async {
    ///     let file = File::create_async(&path).await?;
    ///     file.write_all_async(b"Hello").await?;
    ///     file.sync_all_async().await
    /// })?;
    /// assert_eq!(fs::read(&path)?, b"Hello");
    /// # fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn write_all_async(&self, mut from: &[u8]) -> io::Result<()> {
        while !from.is_empty() {
            match self.write_async(from).await {
                Ok(0) => return Err(self.too_short("write to", ErrorKind::WriteZero)),
                Ok(count) => from = &from[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// As [`Self::write_at`].
    ///
    /// # Errors
    /// As [`Self::write_at`].
    pub async fn write_at_async(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        self.perform_async(Action::Write { from, at: Some(offset) }).await
    }

    /// As [`Self::write_all_at`].
    ///
    /// # Errors
    /// As [`Self::write_at`].
    pub async fn write_all_at_async(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < from.len() {
            match self.write_at_async(&from[done..], offset.saturating_add(done as u64)).await {
                Ok(0) => return Err(self.too_short("write to", ErrorKind::WriteZero)),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// As [`Self::sync_all`].
    ///
    /// # Errors
    /// As [`Self::sync_all`].
    pub async fn sync_all_async(&self) -> io::Result<()> {
        self.perform_async(Action::Sync { data_only: false }).await.map(drop)
    }

    /// As [`Self::sync_data`].
    ///
    /// # Errors
    /// As [`Self::sync_data`].
    pub async fn sync_data_async(&self) -> io::Result<()> {
        self.perform_async(Action::Sync { data_only: true }).await.map(drop)
    }
}
