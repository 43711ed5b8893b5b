//! How a file is opened.

use core::time::Duration;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::backend::{self, Backend};
use super::caller::{Caller, caller, offload, offload_async};
use super::file::File;
use super::open;
use crate::named::naming;

/// How a file is opened, as [`std::fs::OpenOptions`]; of [`File::options`].
///
/// # Examples
/// ```
/// use leno_io::fs::{self, File};
/// use std::io::Write;
///
/// # let path = std::env::temp_dir().join(format!("leno-options-{}", std::process::id()));
/// for line in ["one\n", "two\n"] {
///     let mut file = File::options().create(true).append(true).open(&path)?;
///     file.write_all(line.as_bytes())?;
/// }
/// assert_eq!(fs::read_to_string(&path)?, "one\ntwo\n");
/// fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a file is opened with them"]
pub struct OpenOptions {
    inner: std::fs::OpenOptions,
    /// Whether it is only read, as it is.
    only_read: bool,
    backend: Option<Backend>,
    assume_cached: bool,
    timeout: Option<Duration>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Neither to read nor to write.
    pub fn new() -> OpenOptions {
        OpenOptions {
            inner: std::fs::OpenOptions::new(),
            only_read: true,
            backend: None,
            assume_cached: true,
            timeout: None,
        }
    }

    /// Whether to read.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.inner.read(read);
        self
    }

    /// Whether to write.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.inner.write(write);
        self.only_read = false;
        self
    }

    /// Whether every write goes to the end.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.inner.append(append);
        self.only_read = false;
        self
    }

    /// Whether a file that is there becomes empty.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.inner.truncate(truncate);
        self.only_read = false;
        self
    }

    /// Whether a file that is not there is made.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.inner.create(create);
        self.only_read = false;
        self
    }

    /// Whether the file is made, and must not have been there.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.inner.create_new(create_new);
        self.only_read = false;
        self
    }

    /// Who may do what to a file that is made.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.inner.mode(mode);
        self
    }

    /// More flags for the system, such as `O_DIRECT`.
    pub fn custom_flags(&mut self, flags: i32) -> &mut Self {
        self.inner.custom_flags(flags);
        self.only_read = false;
        self
    }

    /// By which way the file is read and written, in place of [`backend()`](super::backend()). If there
    /// is no [`Backend::Ring`], helpers do it.
    ///
    /// # Examples
    /// ```
    /// use leno_io::fs::{Backend, File};
    ///
    /// let file = File::options().read(true).backend(Backend::Helpers).open("/proc/self/comm")?;
    /// assert_eq!(file.backend(), Backend::Helpers);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn backend(&mut self, backend: Backend) -> &mut Self {
        self.backend = Some(backend);
        self
    }

    /// Whether what is read is likely to be in memory already; `true` by default. Then a read first
    /// asks the system for what it has at once, which is one call; only if there is nothing it goes
    /// through the [`Backend`]. For files that are much larger than memory the question is in vain.
    /// Opening a file only to read it asks too.
    pub fn assume_cached(&mut self, assume_cached: bool) -> &mut Self {
        self.assume_cached = assume_cached;
        self
    }

    /// For how long opening the file may take, and after that each operation on it: see
    /// [`File::set_timeout`].
    pub fn timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.timeout = timeout;
        self
    }

    /// Opens a file so.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [all that waits](super#waiting).
    ///
    /// # Errors
    /// As [`std::fs::OpenOptions::open`], with what was opened; `TimedOut`.
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_sized(path.as_ref()).map(|(file, _)| file)
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_async(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_sized_async(path.as_ref()).await.map(|(file, _)| file)
    }

    /// The file, and how large it is.
    #[track_caller]
    pub(super) fn open_sized(&self, path: &Path) -> io::Result<(File, u64)> {
        let (options, owned) = (self.inner.clone(), path.to_owned());
        let deadline = self.timeout.map(leno_kernel::layer::deadline_in);
        let caller = caller(deadline).map_err(naming("open", path))?;
        if caller == Caller::Co
            && let Some((file, size)) = self.at_once(path)
        {
            return Ok((self.file(file, path), size));
        }
        let opened = offload(deadline, move || opened(options.open(owned)?));
        let (file, size) = opened.map_err(naming("open", path))?;
        Ok((self.file(file, path), size))
    }

    pub(super) async fn open_sized_async(&self, path: &Path) -> io::Result<(File, u64)> {
        leno_kernel::io::permit().map_err(naming("open", path))?;
        if let Some((file, size)) = self.at_once(path) {
            return Ok((self.file(file, path), size));
        }
        let (options, owned) = (self.inner.clone(), path.to_owned());
        let deadline = self.timeout.map(leno_kernel::layer::deadline_in);
        let opened = offload_async(deadline, move || opened(options.open(owned)?)).await;
        let (file, size) = opened.map_err(naming("open", path))?;
        Ok((self.file(file, path), size))
    }

    /// The file, if the system has it in memory.
    fn at_once(&self, path: &Path) -> Option<(std::fs::File, u64)> {
        if self.only_read && self.assume_cached { open::at_once(path) } else { None }
    }

    fn file(&self, file: std::fs::File, path: &Path) -> File {
        let backend = self.backend.map_or_else(backend::backend, backend::possible);
        let file = File::new(file, path, backend, self.assume_cached);
        file.set_timeout(self.timeout);
        file
    }
}

fn opened(file: std::fs::File) -> io::Result<(std::fs::File, u64)> {
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((file, size))
}
