//! A dump when a signal comes.
//!
//! The signal's handler only rings (`raw/signal.rs`). A helper thread hears it, asks all cores, and
//! prints: a dump takes locks and memory, which a handler must not.

use std::io::{self, Read, Write};

use crate::dump::{Depth, dump_all};
use crate::raw::signal;

/// Signals that mean a fault: whoever handles them cannot go on.
const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// From now on, whenever the process gets this signal (`libc::SIGUSR1`, say), a dump of all its
/// systems is printed to stderr, with backtraces, by a helper thread. The program goes on.
///
/// # Errors
/// When the signal cannot be handled, means a fault, or is handled by someone else; or when the
/// machine gives no pipe or thread.
///
/// # Examples
/// ```
/// # fn main() -> std::io::Result<()> {
/// const SIGUSR2: i32 = 12;
/// leno_kernel::dump_on_signal(SIGUSR2)?;
/// // From a shell: kill -USR2 PID
/// # Ok(())
/// # }
/// ```
pub fn dump_on_signal(signal: i32) -> io::Result<()> {
    let refuse = |why: &str| {
        let text = format!("no dump on signal {signal}: {why}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    };
    if FAULTS.contains(&signal) {
        return refuse("it means a fault, after which the program cannot go on");
    }
    if signal::is_taken(signal)? {
        return refuse("it has a handler already");
    }
    start_helper()?;
    signal::install(signal)
}

/// Starts the thread that hears the signals, once.
fn start_helper() -> io::Result<()> {
    static STARTED: std::sync::Mutex<bool> = std::sync::Mutex::new(false);
    let mut started = crate::user::lock(&STARTED);
    if *started {
        return Ok(());
    }
    let mut pipe = signal::pipe()?;
    let listen = move || {
        let mut rings = [0; 64];
        // Several rings that came meanwhile are one dump.
        while pipe.read(&mut rings).is_ok_and(|heard| heard > 0) {
            // Without a place to print to there is nothing to do, and this thread goes on.
            let text = dump_all(Depth::Frames).to_string();
            let _ = io::stderr().write_all(text.as_bytes());
        }
    };
    std::thread::Builder::new().name("leno-dump".to_owned()).spawn(listen)?;
    *started = true;
    Ok(())
}
