//! What the system knows about a name: what is there, and where it leads.

use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use super::caller::{offload, offload_async};
use crate::named::naming;

/// What the system knows about a file. Links are followed.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::metadata`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-metadata-{}", std::process::id()));
/// fs::write(&path, "text")?;
/// assert_eq!(fs::metadata(&path)?.len(), 4);
/// fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::metadata(path)).map_err(naming("ask about", name))
}

/// The same for a future.
///
/// # Errors
/// As [`metadata`].
pub async fn metadata_async(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::metadata(path)).await.map_err(naming("ask about", name))
}

/// The same, and links are not followed.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::symlink_metadata`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// assert!(fs::symlink_metadata("/proc/self")?.is_symlink());
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::symlink_metadata(path)).map_err(naming("ask about", name))
}

/// The same for a future.
///
/// # Errors
/// As [`symlink_metadata`].
pub async fn symlink_metadata_async(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::symlink_metadata(path))
        .await
        .map_err(naming("ask about", name))
}

/// The path without links and dots.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::canonicalize`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// assert_eq!(fs::canonicalize("/proc/../proc/./sys")?.to_str(), Some("/proc/sys"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::canonicalize(path)).map_err(naming("follow", name))
}

/// The same for a future.
///
/// # Errors
/// As [`canonicalize`].
pub async fn canonicalize_async(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::canonicalize(path)).await.map_err(naming("follow", name))
}

/// Where a link leads to.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::read_link`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// let own = std::process::id().to_string();
/// assert_eq!(fs::read_link("/proc/self")?.to_str(), Some(&*own));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::read_link(path)).map_err(naming("follow", name))
}

/// The same for a future.
///
/// # Errors
/// As [`read_link`].
pub async fn read_link_async(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::read_link(path)).await.map_err(naming("follow", name))
}

/// Whether there is such a file. Links are followed.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::exists`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// assert!(fs::exists("/proc/self")? && !fs::exists("/proc/nobody")?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::exists(path)).map_err(naming("ask about", name))
}

/// The same for a future.
///
/// # Errors
/// As [`exists`].
pub async fn exists_async(path: impl AsRef<Path>) -> io::Result<bool> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload_async(None, move || std::fs::exists(path)).await.map_err(naming("ask about", name))
}

/// Says who may do what to a file.
///
/// # Blocking, Cancellation, Panics
/// As [all that waits](super#waiting).
///
/// # Errors
/// As [`std::fs::set_permissions`], with the name of the file.
///
/// # Examples
/// ```
/// use leno_io::fs;
///
/// # let path = std::env::temp_dir().join(format!("leno-permissions-{}", std::process::id()));
/// fs::write(&path, "")?;
/// let mut permissions = fs::metadata(&path)?.permissions();
/// permissions.set_readonly(true);
/// fs::set_permissions(&path, permissions)?;
/// assert!(fs::metadata(&path)?.permissions().readonly());
/// fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    offload(None, move || std::fs::set_permissions(path, permissions))
        .map_err(naming("change", name))
}

/// The same for a future.
///
/// # Errors
/// As [`set_permissions`].
pub async fn set_permissions_async(
    path: impl AsRef<Path>,
    permissions: Permissions,
) -> io::Result<()> {
    let (name, path) = (path.as_ref(), path.as_ref().to_owned());
    let change = offload_async(None, move || std::fs::set_permissions(path, permissions));
    change.await.map_err(naming("change", name))
}
