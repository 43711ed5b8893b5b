//! Which signals there are.

use core::fmt;

/// A signal that a process can get and go on.
///
/// # Examples
/// ```
/// use leno_io::signal::Signal;
///
/// assert_eq!(Signal::Interrupt.to_string(), "SIGINT");
/// assert_eq!(Signal::from_number(15), Some(Signal::Terminate));
/// assert_eq!(Signal::from_number(9), None); // nobody hears SIGKILL
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// `SIGHUP`: the terminal is gone; by custom, read the settings again.
    Hangup,
    /// `SIGINT`: control-C.
    Interrupt,
    /// `SIGQUIT`: control-backslash.
    Quit,
    /// `SIGUSR1`: for the user.
    User1,
    /// `SIGUSR2`: for the user.
    User2,
    /// `SIGALRM`: a timer of the system's.
    Alarm,
    /// `SIGTERM`: please end.
    Terminate,
    /// `SIGCHLD`: a child process has ended.
    Child,
    /// `SIGCONT`: it goes on after it was stopped.
    Continue,
    /// `SIGTSTP`: control-Z.
    Stop,
    /// `SIGWINCH`: the terminal's window has another size.
    Window,
    /// `SIGIO`: something can be read or written.
    Io,
}

impl Signal {
    const ALL: [(Signal, i32, &'static str); 12] = [
        (Signal::Hangup, libc::SIGHUP, "SIGHUP"),
        (Signal::Interrupt, libc::SIGINT, "SIGINT"),
        (Signal::Quit, libc::SIGQUIT, "SIGQUIT"),
        (Signal::User1, libc::SIGUSR1, "SIGUSR1"),
        (Signal::User2, libc::SIGUSR2, "SIGUSR2"),
        (Signal::Alarm, libc::SIGALRM, "SIGALRM"),
        (Signal::Terminate, libc::SIGTERM, "SIGTERM"),
        (Signal::Child, libc::SIGCHLD, "SIGCHLD"),
        (Signal::Continue, libc::SIGCONT, "SIGCONT"),
        (Signal::Stop, libc::SIGTSTP, "SIGTSTP"),
        (Signal::Window, libc::SIGWINCH, "SIGWINCH"),
        (Signal::Io, libc::SIGIO, "SIGIO"),
    ];

    fn entry(self) -> (Signal, i32, &'static str) {
        Signal::ALL[self as usize]
    }

    /// Its number.
    pub fn number(self) -> i32 {
        self.entry().1
    }

    /// The signal with this number, if it is one of these.
    pub fn from_number(number: i32) -> Option<Signal> {
        Signal::ALL.into_iter().find(|entry| entry.1 == number).map(|entry| entry.0)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for (signal, number, name) in Signal::ALL {
            assert_eq!((signal.number(), signal.to_string().as_str()), (number, name));
            assert_eq!(Signal::from_number(number), Some(signal));
        }
    }
}
