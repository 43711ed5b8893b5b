//! Whole files at once.

use std::io::{self, Read, Write};
use std::path::Path;

use super::caller::{offload, offload_async};
use super::file::File;
use super::options::OpenOptions;
use crate::named::{named, naming};

/// Above that the size that a file says it has is not believed at once.
const LARGE: u64 = 1 << 30;

/// Reads a whole file.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::read`], with the name of the file.
///
/// # Examples
/// ```
/// let comm = leno_io::fs::read("/proc/self/comm")?;
/// assert!(comm.ends_with(b"\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (mut file, size) = OpenOptions::new().read(true).open_sized(path.as_ref())?;
    let mut all = Vec::with_capacity(capacity(size));
    file.read_to_end(&mut all)?;
    Ok(all)
}

/// The same for a future.
///
/// # Errors
/// As [`read`].
pub async fn read_async(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (file, size) = OpenOptions::new().read(true).open_sized_async(path.as_ref()).await?;
    let mut all = Vec::with_capacity(capacity(size));
    file.read_to_end_async(&mut all).await?;
    Ok(all)
}

fn capacity(size: u64) -> usize {
    // One more, to see the end.
    size.min(LARGE) as usize + 1
}

/// Reads a whole file of text.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::read_to_string`], with the name of the file.
///
/// # Examples
/// ```
/// let comm = leno_io::fs::read_to_string("/proc/self/comm")?;
/// assert!(comm.ends_with('\n'));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    text(path, read(path)?)
}

/// The same for a future.
///
/// # Errors
/// As [`read_to_string`].
pub async fn read_to_string_async(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    text(path, read_async(path).await?)
}

fn text(path: &Path, all: Vec<u8>) -> io::Result<String> {
    String::from_utf8(all)
        .map_err(|error| named("read", path, io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Writes a whole file; makes it, or replaces what was in it.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::write`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-write-{}", std::process::id()));
/// fs::write(&path, "Hello")?;
/// assert_eq!(fs::read_to_string(&path)?, "Hello");
/// # fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path)?.write_all(contents.as_ref())
}

/// The same for a future.
///
/// # Errors
/// As [`write`](fn@write).
pub async fn write_async(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    File::create_async(path).await?.write_all_async(contents.as_ref()).await
}

/// Copies a file with its permissions; how many bytes that were. A helper thread does it, where the
/// file system can share what both have in common.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting); a copy that has begun is finished first.
///
/// # Errors
/// As [`std::fs::copy`], with the name of what was copied.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-copy-{}", std::process::id()));
/// fs::write(&path, "Hello")?;
/// let copy = path.with_extension("copy");
/// assert_eq!(fs::copy(&path, &copy)?, 5);
/// assert_eq!(fs::read_to_string(&copy)?, "Hello");
/// # fs::remove_file(&path)?;
/// # fs::remove_file(&copy)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (source, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload(None, move || std::fs::copy(from, to)).map_err(naming("copy", source))
}

/// The same for a future.
///
/// # Errors
/// As [`copy`].
pub async fn copy_async(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (source, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload_async(None, move || std::fs::copy(from, to)).await.map_err(naming("copy", source))
}
