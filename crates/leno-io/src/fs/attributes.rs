//! What the system knows about an open file, and what of that can be changed. Helper threads do it.

use std::fs::{FileTimes, Metadata, Permissions};
use std::io;

use super::caller::{offload, offload_async};
use super::file::File;
use crate::named::naming;

impl File {
    /// What the system knows about the file.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::metadata`]; `TimedOut`.
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.offload("ask about", |file| file.metadata())
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`std::fs::File::metadata`].
    pub async fn metadata_async(&self) -> io::Result<Metadata> {
        self.offload_async("ask about", |file| file.metadata()).await
    }

    /// Cuts the file off, or lengthens it with zeroes.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::set_len`]; `TimedOut`.
    #[track_caller]
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        self.offload("resize", move |file| file.set_len(size))
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`std::fs::File::set_len`].
    pub async fn set_len_async(&self, size: u64) -> io::Result<()> {
        self.offload_async("resize", move |file| file.set_len(size)).await
    }

    /// Says who may do what to the file.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::set_permissions`]; `TimedOut`.
    #[track_caller]
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.offload("change", move |file| file.set_permissions(permissions))
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`std::fs::File::set_permissions`].
    pub async fn set_permissions_async(&self, permissions: Permissions) -> io::Result<()> {
        self.offload_async("change", move |file| file.set_permissions(permissions)).await
    }

    /// Says when the file was used and changed.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::set_times`]; `TimedOut`.
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::{self, File};
    /// use std::fs::FileTimes;
    /// use std::time::SystemTime;
    ///
    /// # let path = std::env::temp_dir().join(format!("leno-times-{}", std::process::id()));
    /// let file = File::create_new(&path)?;
    /// file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH))?;
    /// assert_eq!(file.metadata()?.modified()?, SystemTime::UNIX_EPOCH);
    /// # fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.offload("change", move |file| file.set_times(times))
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`std::fs::File::set_times`].
    pub async fn set_times_async(&self, times: FileTimes) -> io::Result<()> {
        self.offload_async("change", move |file| file.set_times(times)).await
    }

    #[track_caller]
    fn offload<T: Send + 'static>(
        &self,
        what: &'static str,
        f: impl FnOnce(&std::fs::File) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let inner = self.inner.clone();
        offload(self.deadline(), move || f(&inner)).map_err(naming(what, &self.path))
    }

    async fn offload_async<T: Send + 'static>(
        &self,
        what: &'static str,
        f: impl FnOnce(&std::fs::File) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let inner = self.inner.clone();
        let done = offload_async(self.deadline(), move || f(&inner)).await;
        done.map_err(naming(what, &self.path))
    }
}
