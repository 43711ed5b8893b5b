//! How a child process is started.

use core::fmt;
use core::time::Duration;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};

use leno_kernel::layer::deadline_in;

use super::child::Child;
use super::output::{gather, output_of};
use crate::named::named;

/// How a child process is started, as [`std::process::Command`].
///
/// # Examples
/// ```
/// use leno_io::process::Command;
///
/// let output = Command::new("sh").args(["-c", "echo $GREETING"]).env("GREETING", "Hello").output()?;
/// assert_eq!(output.stdout, b"Hello\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Command {
    inner: std::process::Command,
    /// Which of stdin, stdout and stderr the user has set.
    is_set: [bool; 3],
    kill_on_drop: bool,
}

impl Command {
    /// Will run this program, which is looked for as the shell does.
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        Command {
            inner: std::process::Command::new(program),
            is_set: [false; 3],
            kill_on_drop: false,
        }
    }

    /// One more argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.inner.arg(arg);
        self
    }

    /// More arguments.
    pub fn args<S: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.inner.args(args);
        self
    }

    /// Sets a variable of its environment.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env(name, value);
        self
    }

    /// Sets several.
    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> &mut Self {
        self.inner.envs(variables);
        self
    }

    /// Takes a variable out of its environment.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env_remove(name);
        self
    }

    /// Takes all out.
    pub fn env_clear(&mut self) -> &mut Self {
        self.inner.env_clear();
        self
    }

    /// Where it begins.
    pub fn current_dir(&mut self, dir: impl AsRef<Path>) -> &mut Self {
        self.inner.current_dir(dir);
        self
    }

    /// What it reads.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Self {
        self.inner.stdin(stdin);
        self.is_set[0] = true;
        self
    }

    /// Where it writes to.
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Self {
        self.inner.stdout(stdout);
        self.is_set[1] = true;
        self
    }

    /// Where it writes errors to.
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Self {
        self.inner.stderr(stderr);
        self.is_set[2] = true;
        self
    }

    /// Whether it is killed when its [`Child`] is dropped before it has ended.
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Self {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// The rest of what `std` can set. What is set of stdin, stdout and stderr here is not known to
    /// [`Self::output`].
    pub fn as_std_mut(&mut self) -> &mut std::process::Command {
        &mut self.inner
    }

    /// Starts it. What was not set of stdin, stdout and stderr it has in common with this process.
    ///
    /// # Blocking
    /// For as long as the system needs to start a process, the calling thread, and with it its core.
    ///
    /// # Errors
    /// As [`std::process::Command::spawn`], with the name of the program; when the platform refuses real
    /// I/O, as virtual time does.
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    ///
    /// let error = Command::new("/no/such/program").spawn().unwrap_err();
    /// assert!(error.to_string().starts_with(r#"start "/no/such/program": No such file"#));
    /// ```
    pub fn spawn(&mut self) -> io::Result<Child> {
        let spawned = leno_kernel::io::permit()
            .and_then(|()| self.inner.spawn())
            .and_then(|child| Child::new(child, self.kill_on_drop));
        spawned.map_err(|error| named("start", self.inner.get_program(), error))
    }

    /// Starts it and waits until it has ended.
    ///
    /// # Blocking, Panics
    /// As [`Child::wait`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, the child is killed.
    ///
    /// # Errors
    /// As [`Self::spawn`] and [`Child::wait`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    ///
    /// assert!(Command::new("true").status()?.success());
    /// assert!(!Command::new("false").status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn_doomed()?.wait()
    }

    /// The same, for at most `limit`; then it is killed.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::status`].
    #[track_caller]
    pub fn status_timeout(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        self.spawn_doomed()?.wait_timeout(limit)
    }

    /// As [`Self::status`], for a future. When it is dropped, the child is killed.
    ///
    /// # Errors
    /// As [`Self::status`].
    pub async fn status_async(&mut self) -> io::Result<ExitStatus> {
        let mut child = self.spawn_doomed()?;
        child.wait_async().await
    }

    /// Starts it, reads all that it writes, and waits until it has ended. What was not set is a pipe
    /// (stdout and stderr) or nothing (stdin).
    ///
    /// # Blocking, Panics
    /// As [`Child::wait`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, the child is killed.
    ///
    /// # Errors
    /// As [`Self::spawn`] and [`Child::wait_with_output`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    /// use leno_kernel::LocalSystem;
    ///
    /// let system = LocalSystem::new();
    /// let output = system.spawn(|| Command::new("sh").args(["-c", "echo a; echo b >&2"]).output());
    /// system.run()?;
    /// let output = output.join()??;
    /// assert_eq!((output.stdout, output.stderr), (b"a\n".to_vec(), b"b\n".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        output_of(self.spawn_piped()?, None)
    }

    /// The same, for at most `limit`; then it is killed.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::output`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::Command;
    /// use std::time::Duration;
    ///
    /// let error = Command::new("sleep").arg("1000").output_timeout(Duration::from_millis(1));
    /// assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    /// ```
    #[track_caller]
    pub fn output_timeout(&mut self, limit: Duration) -> io::Result<Output> {
        let deadline = deadline_in(limit);
        output_of(self.spawn_piped()?, Some(deadline))
    }

    /// As [`Self::output`], for a future. When it is dropped, the child is killed.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub async fn output_async(&mut self) -> io::Result<Output> {
        gather(self.spawn_piped()?).await
    }

    /// One that nobody else has: it is killed when it is dropped before its end.
    fn spawn_doomed(&mut self) -> io::Result<Child> {
        let mut child = self.spawn()?;
        child.kill_on_drop = true;
        Ok(child)
    }

    fn spawn_piped(&mut self) -> io::Result<Child> {
        let is_set = self.is_set;
        let unset = |command: &mut Self, others: fn() -> Stdio, input: fn() -> Stdio| {
            if !is_set[0] {
                command.inner.stdin(input());
            }
            if !is_set[1] {
                command.inner.stdout(others());
            }
            if !is_set[2] {
                command.inner.stderr(others());
            }
        };
        unset(self, Stdio::piped, Stdio::null);
        let child = self.spawn_doomed();
        unset(self, Stdio::inherit, Stdio::inherit);
        child
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
