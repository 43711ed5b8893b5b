//! Cores as objects: each a native thread that sleeps until it is given something to execute.

use core::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use leno_kernel::layer::world;
use leno_kernel::{BuildError, JoinHandle, Options, System};

/// A core. It sleeps while it has no main, and executes what it is given: a scheduler, a process, any
/// closure.
///
/// Dropping it ends what it executes, and then its thread.
///
/// # Examples
/// ```
/// use leno_process::Core;
///
/// let core = Core::fork("c1")?;
/// let sum = core.attach(|| (1..=10).sum::<u32>());
/// assert_eq!(sum.join()?, 55);
/// let name = core.attach(|| std::thread::current().name().map(str::to_owned));
/// assert_eq!(name.join()?.as_deref(), Some("c1-0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Core {
    system: System,
    name: String,
}

impl Core {
    /// Starts a thread, which sleeps.
    ///
    /// # Errors
    /// When the machine gives no thread.
    pub fn fork(name: impl Into<String>) -> Result<Core, BuildError> {
        let name = name.into();
        let system = System::builder().cores(1).name(name.clone()).preemptive().build()?;
        Ok(Core { system, name })
    }

    /// As many as the machine has, named `core-0`, `core-1` and so on; in an explored program two.
    ///
    /// # Errors
    /// As [`Self::fork`].
    pub fn fork_all() -> Result<Vec<Core>, BuildError> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let cores = if world::is_here() {
            2
        } else {
            std::thread::available_parallelism().map_or(1, usize::from)
        };
        (0..cores).map(|_| Core::fork(format!("core-{}", NEXT.fetch_add(1, Relaxed)))).collect()
    }

    /// Gives it something to execute. If it executes something already, both share it, each running
    /// while the other one waits.
    #[track_caller]
    pub fn attach<T: Send + 'static>(
        &self,
        main: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let options = Options::new().name(self.name.clone());
        self.system.spawn_with(&options, main)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The system of one core that it is, for dumps and logs.
    pub fn system(&self) -> &System {
        &self.system
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Core({})", self.name)
    }
}
