//! Who is alive on this thread.

use core::fmt;
use core::panic::Location;
use std::backtrace::Backtrace;

use leno_context::{Name, State, Status};

use crate::raw;

/// One live coroutine of this thread, as it was when it was listed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// Its id.
    pub id: u64,
    /// What it was doing.
    pub state: State,
    /// Whether it is a member of a ring (else it is asymmetric).
    pub is_member: bool,
    /// Where it was made.
    pub site: &'static Location<'static>,
    /// Bytes of its stack; 0 if it shares one.
    pub stack_size: usize,
    pub(crate) name: Name,
    pub(crate) status: Status,
}

impl Info {
    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_str()
    }

    /// Where it is suspended, as it sees it. `None` unless it still is, with some stack left.
    pub fn backtrace(&self) -> Option<Backtrace> {
        raw::list::backtrace(self.status)
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_member { "member" } else { "coroutine" };
        let name = self.name.or_id(self.id);
        let (state, site, size) = (self.state, self.site, self.stack_size / 1024);
        write!(f, "{kind} {name}[{state}], created at {site}, ")?;
        match size {
            0 => f.write_str("on a shared stack"),
            _ => write!(f, "stack {size} KiB"),
        }
    }
}

/// All live coroutines of this thread, oldest first. Those that may change threads are not listed:
/// another thread may take them at any time.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::{Builder, list};
///
/// let pump = Builder::new().name("pump").coroutine(|co, ()| co.suspend(()))?;
/// pump.resume(());
/// let all = list::coroutines();
/// assert!(all[0].to_string().starts_with("coroutine 'pump'[suspended], created at"));
/// println!("{}", all[0].backtrace().expect("it is suspended"));
/// # Ok::<(), leno::CreateError>(())
/// ```
pub fn coroutines() -> Vec<Info> {
    raw::list::coroutines()
}
