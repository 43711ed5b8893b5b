//! Opening a file that the system has in memory, at once.
//!
//! Looking a path up may have to wait for a disk, so a helper does it. But `openat2` can be asked for what
//! its cache of names has, and for nothing else (`RESOLVE_CACHED`, Linux 5.12). It is asked for the file
//! itself, without opening it: a pipe or a device might wait for its other end. If it is a regular file of
//! a local file system it is opened by the descriptor.
//!
//! Whatever is in the way, errors too, is left to the helper.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat2};

/// Those that open a file without asking anyone: ext4 and its kin, XFS, Btrfs, F2FS, tmpfs, overlays.
const LOCAL: [u64; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0x794c_7630];

/// The file, to be read, and how large it is.
pub(super) fn at_once(path: &Path) -> Option<(File, u64)> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
    let stat = fstat(&found).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || !LOCAL.contains(&(fstatfs(&found).ok()?.f_type as u64)) {
        return None;
    }
    let file = File::open(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
    Some((file, u64::try_from(stat.st_size).unwrap_or(0)))
}
