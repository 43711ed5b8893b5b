//! The end of a channel that is read.

use core::fmt;

use leno_channel::{Label, Receiver, RecvError, Who};
use leno_kernel::layer::ledger::Knower;
use leno_kernel::{Object, Outcome};

use crate::Cx;
use crate::bind::Ends;
use crate::scheduler::Doing;
use crate::wire::Hold;

/// The end of a channel that is read: a *free* end, a value like any other.
///
/// Clones read from the same channel; a value goes to one of those who read. A free end counts as
/// known to the world; [bound](crate::Bind) ones are known to one fibre.
pub struct In<T> {
    pub(crate) receiver: Receiver<T>,
    pub(crate) hold: Hold,
}

impl<T> In<T> {
    /// Reads a value.
    ///
    /// # Blocking
    /// The fibre is *hungry* until another one writes.
    ///
    /// # Cancellation
    /// If nobody can ever write, because all ends to write to are gone or nobody can reach them, the
    /// fibre *starves*: this does not return, the stack unwinds, and destructors run.
    ///
    /// # Panics
    /// When `cx` is not the running fibre's; and in a destructor while the fibre's own stack unwinds,
    /// if it would have to wait.
    ///
    /// # Examples
    /// ```
    /// let ran = leno_fibre::run(|cx| {
    ///     let (out, inp) = leno_fibre::channel();
    ///     cx.spawn(move |cx| out.write(cx, 7));
    ///     assert_eq!(inp.read(cx), 7);
    ///     inp.read(cx); // starves
    ///     unreachable!();
    /// });
    /// assert_eq!(ran.report().removed, 1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn read(&self, cx: &Cx<'_>) -> T {
        cx.does(Doing::Reads);
        cx.held(|held| held.reads(|| self.label()));
        match self.receiver.recv() {
            Ok(value) => value,
            Err(error) => starve(cx, &error),
        }
    }

    /// Reads again and again: an iterator that never ends; instead the fibre starves.
    ///
    /// # Examples
    /// ```
    /// let ran = leno_fibre::run(|cx| {
    ///     let (out, inp) = leno_fibre::channel();
    ///     cx.spawn(move |cx| (1..).for_each(|n| out.write(cx, n)));
    ///     inp.iter(cx).take(4).sum::<u32>()
    /// });
    /// assert_eq!(ran.result(), Some(10));
    /// ```
    pub fn iter<'a>(&'a self, cx: &'a Cx<'_>) -> impl Iterator<Item = T> + 'a {
        core::iter::repeat_with(move || self.read(cx))
    }

    /// Whether someone waits to write, so that [`Self::read`] would return at once.
    pub fn ready(&self) -> bool {
        !self.waiting_writers().is_empty()
    }

    /// What the channel is like: empty, hungry or blocked.
    pub fn state(&self) -> leno_channel::State {
        self.receiver.state()
    }

    /// Who waits to read from it, the first come first.
    pub fn waiting_readers(&self) -> Vec<Who> {
        self.receiver.waiting_receivers()
    }

    /// Who waits to write to it, the first come first.
    pub fn waiting_writers(&self) -> Vec<Who> {
        self.receiver.waiting_senders()
    }

    /// What reasons and reports call the channel.
    pub fn object(&self) -> Object {
        self.receiver.object()
    }

    /// What messages call the channel.
    pub fn label(&self) -> Label {
        self.receiver.label()
    }
}

impl<T: 'static> Ends for In<T> {
    fn pass_to(&mut self, knower: Knower) {
        self.hold.pass_to(knower);
    }
}

#[cold]
#[track_caller]
pub(crate) fn starve(cx: &Cx<'_>, error: &RecvError) -> ! {
    leno_kernel::layer::exit_as(Outcome::Starved);
    panic!("fibre {} cannot read: {error}, and its own stack unwinds already", cx.co())
}

impl<T> Clone for In<T> {
    /// A free one.
    fn clone(&self) -> In<T> {
        In { receiver: self.receiver.clone(), hold: self.hold.another() }
    }
}

impl<T> fmt::Debug for In<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "In({})", self.label())
    }
}
