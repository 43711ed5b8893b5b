//! Standard output, whose reader may have had enough: `leno replay TOKEN | head`.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::exit;

/// The status of one whom the closed pipe has ended, as shells show it: 128 and the number of the signal.
pub(crate) const NOBODY_READS: u8 = 141;

/// Writes a line. If nobody reads any more, the command ends without a word.
macro_rules! tell {
    ($($text:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use tell;

/// Writes a text, as `tell!` does a line.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        exit(NOBODY_READS.into());
    }
    // Nor may anybody read this.
    let _unread = writeln!(io::stderr(), "leno: cannot write to standard output: {error}");
    exit(1);
}
