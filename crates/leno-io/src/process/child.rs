//! A child process.

use core::fmt;
use core::pin::pin;
use core::time::Duration;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Output};

use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::deadline_in;
use leno_kernel::{Time, try_block_on};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use super::orphan;
use super::output::output_of;
use super::stdio::{ChildStderr, ChildStdin, ChildStdout};
use crate::fs::caller::offload_async;
use crate::time::within;

/// A child process; of [`Command::spawn`](super::Command::spawn).
///
/// Dropping it neither ends the child nor waits for it, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) was asked for. But when the child ends, it leaves no
/// zombie: this process takes notice of it, without waiting.
///
/// # Examples
/// ```
/// use leno_io::process::Command;
/// use leno_kernel::LocalSystem;
///
/// let system = LocalSystem::new();
/// let status = system.spawn(|| {
///     let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn()?;
///     child.wait()
/// });
/// system.run()?;
/// assert_eq!(status.join()??.code(), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Child {
    /// What it reads, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// What it writes, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// What it writes as errors, if that is a pipe.
    pub stderr: Option<ChildStderr>,
    /// There until the end.
    pub(super) inner: Option<std::process::Child>,
    /// Readable when it has ended. Without one a helper waits.
    pub(super) pidfd: Option<Descriptor<OwnedFd>>,
    pub(super) kill_on_drop: bool,
}

impl Child {
    pub(super) fn new(mut inner: std::process::Child, kill_on_drop: bool) -> io::Result<Child> {
        let pipes = (inner.stdin.take(), inner.stdout.take(), inner.stderr.take());
        let pidfd = pidfd(&inner);
        // From here on, whatever fails, it leaves no zombie.
        let mut child = Child {
            stdin: None,
            stdout: None,
            stderr: None,
            inner: Some(inner),
            pidfd,
            kill_on_drop: true,
        };
        child.stdin = pipes.0.map(ChildStdin::new).transpose()?;
        child.stdout = pipes.1.map(ChildStdout::new).transpose()?;
        child.stderr = pipes.2.map(ChildStderr::new).transpose()?;
        child.kill_on_drop = kill_on_drop;
        Ok(child)
    }

    fn inner(&mut self) -> &mut std::process::Child {
        self.inner.as_mut().expect("there until the end")
    }

    /// Its number, by which the system knows it.
    pub fn id(&self) -> u32 {
        self.inner.as_ref().expect("there until the end").id()
    }

    /// Ends it at once, by `SIGKILL`. It still has to be waited for. If it has ended, nothing happens.
    ///
    /// # Errors
    /// When the system refuses.
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    /// use std::os::unix::process::ExitStatusExt;
    ///
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// child.kill()?;
    /// assert_eq!(child.wait()?.signal(), Some(9));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn kill(&mut self) -> io::Result<()> {
        self.inner().kill()
    }

    /// Waits until it has ended. Its stdin is closed first, if it is a pipe, so that a child that reads
    /// to the end comes to it.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses [`Self::wait_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it waits no more, and its stack unwinds. The child goes on.
    ///
    /// # Errors
    /// When the system or the platform refuses; or while the coroutine's own stack unwinds, if it would
    /// have to wait.
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_until(None)
    }

    /// The same, for at most `limit`. The child goes on when the time is over.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::wait`].
    ///
    /// # Panics
    /// As [`Self::wait`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    /// use std::time::Duration;
    ///
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// let error = child.wait_timeout(Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    /// child.kill()?;
    /// child.wait()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_timeout(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        self.wait_until(Some(deadline_in(limit)))
    }

    #[track_caller]
    fn wait_until(&mut self, deadline: Option<Time>) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            let waited = match &self.pidfd {
                Some(pidfd) => deadline
                    .map_or_else(
                        || pidfd.wait(Interest::READ),
                        |deadline| pidfd.wait_until(Interest::READ, deadline),
                    )
                    .map(drop),
                // As a future, because that can be left: the helper needs nothing of ours.
                None => {
                    try_block_on(within(deadline, "wait", pin!(offload_async(None, self.end()))))
                        .unwrap_or_else(|exiting| Err(io::Error::other(exiting)))
                }
            };
            waited.map_err(|error| self.explain(error))?;
        }
    }

    /// As [`Self::wait`], for a future. When it is dropped, nothing is lost.
    ///
    /// # Errors
    /// As [`Self::wait`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    ///
    /// let mut child = Command::new("true").spawn()?;
    /// assert!(leno_kernel::block_on(child.wait_async())?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn wait_async(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            match &self.pidfd {
                Some(pidfd) => drop(pidfd.wait_async(Interest::READ).await?),
                None => offload_async(None, self.end()).await?,
            }
        }
    }

    /// Waits for its end on a helper, and leaves it to be asked for.
    fn end(&self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        let id = pid(self.inner.as_ref().expect("there until the end"));
        move || loop {
            match waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Err(rustix::io::Errno::INTR) => {}
                // Someone has asked already.
                Err(rustix::io::Errno::CHILD) | Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn explain(&self, error: io::Error) -> io::Error {
        match error.kind() {
            kind @ io::ErrorKind::TimedOut => {
                let text = format!("the time is over in which to wait for process {}", self.id());
                io::Error::new(kind, text)
            }
            _ => error,
        }
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// When the system refuses.
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    ///
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// assert!(child.try_wait()?.is_none());
    /// child.kill()?;
    /// let status = child.wait()?;
    /// assert_eq!(child.try_wait()?, Some(status));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.inner().try_wait()
    }

    /// Reads all that it writes, both pipes at once, and waits until it has ended.
    ///
    /// # Blocking, Cancellation, Panics
    /// As [`Self::wait`].
    ///
    /// # Errors
    /// As [`Self::wait`], and those of reading.
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::{Command, Stdio};
    ///
    /// let child = Command::new("echo").arg("Hello").stdout(Stdio::piped()).spawn()?;
    /// assert_eq!(child.wait_with_output()?.stdout, b"Hello\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_with_output(self) -> io::Result<Output> {
        output_of(self, None)
    }

    /// The same for a future.
    ///
    /// # Errors
    /// As [`Self::wait_with_output`].
    pub async fn wait_with_output_async(self) -> io::Result<Output> {
        super::output::gather(self).await
    }
}

fn pid(child: &std::process::Child) -> Pid {
    let id = i32::try_from(child.id()).ok();
    id.and_then(Pid::from_raw).expect("the system numbers processes from 1 on")
}

/// None, where the system has no such thing.
fn pidfd(child: &std::process::Child) -> Option<Descriptor<OwnedFd>> {
    let pidfd = pidfd_open(pid(child), PidfdFlags::empty()).ok()?;
    Descriptor::new(pidfd).ok()
}

impl Drop for Child {
    fn drop(&mut self) {
        let Some(mut inner) = self.inner.take() else { return };
        if self.kill_on_drop {
            // If it cannot be killed it has ended.
            let _ = inner.kill();
        }
        orphan::adopt(inner, self.pidfd.take());
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Child({})", self.id())
    }
}
