//! Names of files and folders: making, removing, changing them. Helper threads do it: the ring would
//! have threads of the system's do the same.

use std::io;
use std::path::Path;

use super::caller::{offload, offload_async};
use crate::named::naming;

/// Makes a folder.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::create_dir`], with the name of the folder.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-create_dir-{}", std::process::id()));
/// fs::create_dir(&path)?;
/// assert!(fs::metadata(&path)?.is_dir());
/// fs::remove_dir(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::create_dir(path)).map_err(naming("create", name))
}

/// The same for a future.
///
/// # Errors
/// As [`create_dir`].
pub async fn create_dir_async(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::create_dir(path)).await.map_err(naming("create", name))
}

/// Makes a folder, and those around it that are not there.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::create_dir_all`], with the name of the folder.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-create_dir_all-{}", std::process::id()));
/// fs::create_dir_all(path.join("a/b"))?;
/// assert!(fs::metadata(path.join("a/b"))?.is_dir());
/// fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::create_dir_all(path)).map_err(naming("create", name))
}

/// The same for a future.
///
/// # Errors
/// As [`create_dir_all`].
pub async fn create_dir_all_async(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::create_dir_all(path)).await.map_err(naming("create", name))
}

/// Removes an empty folder.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::remove_dir`], with the name of the folder.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-remove_dir-{}", std::process::id()));
/// fs::create_dir(&path)?;
/// fs::remove_dir(&path)?;
/// assert!(!fs::exists(&path)?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::remove_dir(path)).map_err(naming("remove", name))
}

/// The same for a future.
///
/// # Errors
/// As [`remove_dir`].
pub async fn remove_dir_async(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::remove_dir(path)).await.map_err(naming("remove", name))
}

/// Removes a folder with all that is in it. Links are not followed.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::remove_dir_all`], with the name of the folder.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-remove_dir_all-{}", std::process::id()));
/// fs::create_dir(&path)?;
/// fs::write(path.join("file"), "")?;
/// fs::remove_dir_all(&path)?;
/// assert!(!fs::exists(&path)?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::remove_dir_all(path)).map_err(naming("remove", name))
}

/// The same for a future.
///
/// # Errors
/// As [`remove_dir_all`].
pub async fn remove_dir_all_async(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::remove_dir_all(path)).await.map_err(naming("remove", name))
}

/// Removes a file's name; the file goes when nobody has it open.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::remove_file`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-remove_file-{}", std::process::id()));
/// fs::write(&path, "")?;
/// fs::remove_file(&path)?;
/// let error = fs::remove_file(&path).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::remove_file(path)).map_err(naming("remove", name))
}

/// The same for a future.
///
/// # Errors
/// As [`remove_file`].
pub async fn remove_file_async(path: impl AsRef<Path>) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::remove_file(path)).await.map_err(naming("remove", name))
}

/// Gives a file another name, in place of whoever had it.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::rename`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-rename-{}", std::process::id()));
/// fs::write(&path, "text")?;
/// let new = path.with_extension("new");
/// fs::rename(&path, &new)?;
/// assert_eq!(fs::read(&new)?, b"text");
/// fs::remove_file(&new)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (name, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload(None, move || std::fs::rename(from, to)).map_err(naming("rename", name))
}

/// The same for a future.
///
/// # Errors
/// As [`rename`].
pub async fn rename_async(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (name, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload_async(None, move || std::fs::rename(from, to)).await.map_err(naming("rename", name))
}

/// Gives a file another name, and keeps the old one.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::hard_link`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-hard_link-{}", std::process::id()));
/// fs::write(&path, "text")?;
/// let second = path.with_extension("second");
/// fs::hard_link(&path, &second)?;
/// fs::remove_file(&path)?;
/// assert_eq!(fs::read(&second)?, b"text");
/// fs::remove_file(&second)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (name, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload(None, move || std::fs::hard_link(from, to)).map_err(naming("link", name))
}

/// The same for a future.
///
/// # Errors
/// As [`hard_link`].
pub async fn hard_link_async(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (name, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload_async(None, move || std::fs::hard_link(from, to)).await.map_err(naming("link", name))
}

/// Makes `to` a link that leads to `from`.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::os::unix::fs::symlink`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-symlink-{}", std::process::id()));
/// fs::symlink("/proc/self", &path)?;
/// assert_eq!(fs::read_link(&path)?.to_str(), Some("/proc/self"));
/// fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn symlink(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (name, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload(None, move || std::os::unix::fs::symlink(from, to)).map_err(naming("link", name))
}

/// The same for a future.
///
/// # Errors
/// As [`symlink`].
pub async fn symlink_async(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (name, from, to) = (from.as_ref(), from.as_ref().to_owned(), to.as_ref().to_owned());
    offload_async(None, move || std::os::unix::fs::symlink(from, to))
        .await
        .map_err(naming("link", name))
}
