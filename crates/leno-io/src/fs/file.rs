//! An open file.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use leno_kernel::Time;
use leno_kernel::layer::deadline_in;

use super::backend::{self, Backend};
use super::options::OpenOptions;
use crate::named::naming;

/// An open file, as [`std::fs::File`]: for coroutines and threads by [`Read`](io::Read),
/// [`Write`](io::Write) and [`Seek`](io::Seek), for futures by the `_async` twins.
///
/// A file may be used from any number of coroutines and threads at once. They share its cursor;
/// [`read_at`](Self::read_at) and [`write_at`](Self::write_at) do without.
///
/// # Examples
/// ```
/// use leno_io::fs::{self, File};
/// use leno_kernel::LocalSystem;
/// use std::io::{Read, Seek, Write};
///
/// # let path = std::env::temp_dir().join(format!("leno-file-{}", std::process::id()));
/// # let there = path.clone();
/// let system = LocalSystem::new();
/// let text = system.spawn(move || {
///     let mut file = File::create_new(&path)?;
///     file.write_all(b"Hello, world")?;
///     file.rewind()?;
///     let mut text = String::new();
///     file.read_to_string(&mut text)?;
///     Ok::<_, std::io::Error>(text)
/// });
/// system.run()?;
/// assert_eq!(text.join()??, "Hello, world");
/// # fs::remove_file(there)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct File {
    pub(super) inner: Arc<std::fs::File>,
    pub(super) path: Arc<Path>,
    pub(super) backend: Backend,
    /// Whether the system can say what it has at once.
    pub(super) assume_cached: AtomicBool,
    /// In nanoseconds; 0 for none.
    timeout: AtomicU64,
}

impl File {
    pub(super) fn new(
        inner: std::fs::File,
        path: &Path,
        backend: Backend,
        assume_cached: bool,
    ) -> File {
        File {
            inner: Arc::new(inner),
            path: path.into(),
            backend,
            assume_cached: AtomicBool::new(assume_cached),
            timeout: AtomicU64::new(0),
        }
    }

    /// Opens a file to read.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::open`], with what was opened.
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::File;
    ///
    /// let error = File::open("/no/such/file").unwrap_err();
    /// assert!(error.to_string().starts_with(r#"open "/no/such/file": No such file"#));
    /// ```
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path)
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_async(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open_async(path).await
    }

    /// Opens a file to write; makes it, or makes it empty.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::create`], with what was opened.
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub async fn create_async(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open_async(path).await
    }

    /// Makes a file, which must not be there yet, to read and to write.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::File::create_new`], with what was opened.
    #[track_caller]
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`Self::create_new`].
    pub async fn create_new_async(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open_async(path).await
    }

    /// To open a file in other ways.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// A file that was opened elsewhere; errors call it by its descriptor.
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::File;
    /// use std::io::Read;
    ///
    /// let mut comm = File::from_std(std::fs::File::open("/proc/self/comm")?);
    /// let mut text = String::new();
    /// assert!(comm.read_to_string(&mut text)? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_std(file: std::fs::File) -> File {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        File::new(file, Path::new(&path), backend::backend(), true)
    }

    /// The same file, with the same cursor, for `std`.
    ///
    /// # Errors
    /// When the process has no more descriptors.
    pub fn to_std(&self) -> io::Result<std::fs::File> {
        self.inner.try_clone().map_err(naming("clone", &self.path))
    }

    /// Another handle of the same file, with the same cursor and a time-out of its own.
    ///
    /// # Errors
    /// When the process has no more descriptors.
    pub fn try_clone(&self) -> io::Result<File> {
        let inner = self.to_std()?;
        let file = File::new(inner, &self.path, self.backend, self.assume_cached.load(Relaxed));
        file.set_timeout(self.timeout());
        Ok(file)
    }

    /// By which way it is read and written.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// For how long each operation may take; `None` for as long as it needs.
    ///
    /// An operation that takes longer fails with [`TimedOut`](io::ErrorKind::TimedOut), once the system
    /// has stopped it or done it; a disk that does not answer is waited for. If it was done
    /// nevertheless, that is the result. A future does not wait for that: when it is late, what was read
    /// nevertheless is lost, and the cursor may have moved.
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::File;
    /// use std::{io::Read, time::Duration};
    ///
    /// let mut file = File::open("/proc/self/comm")?;
    /// file.set_timeout(Some(Duration::from_secs(30)));
    /// assert!(file.read(&mut [0; 8])? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        let nanos = timeout.map_or(0, |timeout| timeout.as_nanos().clamp(1, u64::MAX.into()));
        self.timeout.store(nanos as u64, Relaxed);
    }

    /// See [`Self::set_timeout`].
    pub fn timeout(&self) -> Option<Duration> {
        match self.timeout.load(Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.timeout().map(deadline_in)
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> File {
        File::from_std(file)
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        File::from_std(fd.into())
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({:?})", self.path)
    }
}
