//! What is in a folder.

use core::fmt;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use leno_kernel::layer::user::lock;

use super::caller::{offload, offload_async};
use crate::named::naming;

/// How many entries are fetched at a time.
const BATCH: usize = 64;

/// What is in a folder, one after the other; of [`read_dir`]. A thread-like caller uses it as an
/// iterator, a future by [`Self::next_async`].
pub struct ReadDir {
    path: Arc<Path>,
    /// Shared with the helper that fetches more.
    inner: Arc<Mutex<std::fs::ReadDir>>,
    fetched: VecDeque<io::Result<std::fs::DirEntry>>,
    has_ended: bool,
}

/// Something in a folder.
pub struct DirEntry(Arc<std::fs::DirEntry>);

/// Looks into a folder.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting), here and for each entry.
///
/// # Errors
/// As [`std::fs::read_dir`], with the name of the folder.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// let mut names = Vec::new();
/// for entry in fs::read_dir("/proc/self/task")? {
///     names.push(entry?.file_name());
/// }
/// assert!(!names.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let (path, owned) = (path.as_ref(), path.as_ref().to_owned());
    let inner = offload(None, move || std::fs::read_dir(owned)).map_err(naming("read", path))?;
    Ok(ReadDir::new(path, inner))
}

/// The same for a future.
///
/// # Errors
/// As [`read_dir`].
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// let count = leno_kernel::block_on(async {
///     let mut folder = fs::read_dir_async("/proc/self/task").await?;
///     let mut count = 0;
///     while let Some(entry) = folder.next_async().await {
///         count += usize::from(entry?.file_type()?.is_dir());
///     }
///     Ok::<_, std::io::Error>(count)
/// })?;
/// assert!(count > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub async fn read_dir_async(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let (path, owned) = (path.as_ref(), path.as_ref().to_owned());
    let inner = offload_async(None, move || std::fs::read_dir(owned)).await;
    Ok(ReadDir::new(path, inner.map_err(naming("read", path))?))
}

impl ReadDir {
    fn new(path: &Path, inner: std::fs::ReadDir) -> ReadDir {
        let inner = Arc::new(Mutex::new(inner));
        ReadDir { path: path.into(), inner, fetched: VecDeque::new(), has_ended: false }
    }

    fn is_to_fetch(&self) -> bool {
        self.fetched.is_empty() && !self.has_ended
    }

    fn fetch(&self) -> impl FnOnce() -> io::Result<Vec<io::Result<std::fs::DirEntry>>> + use<> {
        let inner = self.inner.clone();
        move || {
            let mut inner = lock(&inner);
            Ok(inner.by_ref().take(BATCH).collect())
        }
    }

    fn fetched(
        &mut self,
        more: io::Result<Vec<io::Result<std::fs::DirEntry>>>,
    ) -> Option<io::Result<DirEntry>> {
        match more {
            Ok(more) => {
                self.has_ended |= more.len() < BATCH;
                self.fetched.extend(more);
            }
            Err(error) => {
                self.has_ended = true;
                self.fetched.push_back(Err(error));
            }
        }
        self.take()
    }

    fn take(&mut self) -> Option<io::Result<DirEntry>> {
        let entry = self.fetched.pop_front()?.map_err(naming("read", &self.path));
        Some(entry.map(|entry| DirEntry(Arc::new(entry))))
    }

    /// The next one, for a future.
    ///
    /// # Errors
    /// As the iterator. If the future is dropped while a helper fetches, what that has fetched is lost.
    pub async fn next_async(&mut self) -> Option<io::Result<DirEntry>> {
        if !self.is_to_fetch() {
            return self.take();
        }
        let more = offload_async(None, self.fetch()).await;
        self.fetched(more)
    }
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<DirEntry>> {
        if !self.is_to_fetch() {
            return self.take();
        }
        let more = offload(None, self.fetch());
        self.fetched(more)
    }
}

impl DirEntry {
    /// Its path: that of the folder and its name.
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// Its name.
    pub fn file_name(&self) -> OsString {
        self.0.file_name()
    }

    /// What it is: a file, a folder, a link. The folder usually says so, and it takes no time.
    ///
    /// # Errors
    /// As [`std::fs::DirEntry::file_type`].
    pub fn file_type(&self) -> io::Result<FileType> {
        self.0.file_type().map_err(naming("ask about", &self.path()))
    }

    /// What the system knows about it. Links are not followed.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::DirEntry::metadata`].
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        let entry = self.0.clone();
        offload(None, move || entry.metadata()).map_err(naming("ask about", &self.path()))
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`Self::metadata`].
    pub async fn metadata_async(&self) -> io::Result<Metadata> {
        let entry = self.0.clone();
        offload_async(None, move || entry.metadata())
            .await
            .map_err(naming("ask about", &self.path()))
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadDir({:?})", self.path)
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirEntry({:?})", self.path())
    }
}
