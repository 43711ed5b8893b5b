//! The end of a channel that is written to.

use core::fmt;

use leno_channel::{Label, SendError, Sender, Who};
use leno_kernel::layer::ledger::Knower;
use leno_kernel::{Object, Outcome};

use crate::Cx;
use crate::bind::Ends;
use crate::scheduler::Doing;
use crate::wire::Hold;

/// The end of a channel that is written to: a *free* end, a value like any other.
///
/// Clones write to the same channel. A free end counts as known to the world; [bound](crate::Bind)
/// ones are known to one fibre.
pub struct Out<T> {
    pub(crate) sender: Sender<T>,
    pub(crate) hold: Hold,
}

impl<T> Out<T> {
    /// Writes a value.
    ///
    /// # Blocking
    /// The fibre is *blocked* until another one reads.
    ///
    /// # Cancellation
    /// If nobody can ever read, because all ends to read from are gone or nobody can reach them, the
    /// fibre ends by *blockage*: this does not return, the value is dropped, the stack unwinds, and
    /// destructors run.
    ///
    /// # Panics
    /// When `cx` is not the running fibre's; and in a destructor while the fibre's own stack unwinds,
    /// if it would have to wait.
    ///
    /// # Examples
    /// ```
    /// let ran = leno_fibre::run(|cx| {
    ///     let (out, inp) = leno_fibre::channel();
    ///     cx.spawn(move |cx| println!("{} is all I want", inp.read(cx)));
    ///     out.write(cx, 1);
    ///     out.write(cx, 2); // blockage
    ///     unreachable!();
    /// });
    /// assert_eq!(ran.report().removed, 1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn write(&self, cx: &Cx<'_>, value: T) {
        cx.does(Doing::Writes);
        cx.held(|held| held.writes(|| self.label()));
        if let Err(error) = self.sender.send(value) {
            block(cx, error);
        }
    }

    /// Writes a copy to each of those who wait to read now, and waits for nobody. How many they were.
    ///
    /// # Panics
    /// When `cx` is not the running fibre's.
    ///
    /// # Examples
    /// ```
    /// leno_fibre::run(|cx| {
    ///     let (out, inp) = leno_fibre::channel();
    ///     for _ in 0..3 {
    ///         let inp = inp.clone();
    ///         cx.spawn(move |cx| assert_eq!(inp.read(cx), "all of you"));
    ///     }
    ///     cx.yield_now();
    ///     assert_eq!(out.broadcast(cx, "all of you"), 3);
    ///     assert_eq!(out.broadcast(cx, "nobody"), 0);
    /// });
    /// ```
    #[track_caller]
    pub fn broadcast(&self, cx: &Cx<'_>, value: T) -> usize
    where
        T: Clone,
    {
        cx.does(Doing::Other);
        let waiting = self.waiting_readers().len();
        let write = |_: &usize| {
            cx.held(|held| held.writes(|| self.label()));
            self.sender.try_send(value.clone()).is_ok()
        };
        (0..waiting).take_while(write).count()
    }

    /// Whether someone waits to read, so that [`Self::write`] would not have to wait.
    pub fn ready(&self) -> bool {
        !self.waiting_readers().is_empty()
    }

    /// What the channel is like: empty, hungry or blocked.
    pub fn state(&self) -> leno_channel::State {
        self.sender.state()
    }

    /// Who waits to read from it, the first come first.
    pub fn waiting_readers(&self) -> Vec<Who> {
        self.sender.waiting_receivers()
    }

    /// Who waits to write to it, the first come first.
    pub fn waiting_writers(&self) -> Vec<Who> {
        self.sender.waiting_senders()
    }

    /// What reasons and reports call the channel.
    pub fn object(&self) -> Object {
        self.sender.object()
    }

    /// What messages call the channel.
    pub fn label(&self) -> Label {
        self.sender.label()
    }
}

impl<T: 'static> Ends for Out<T> {
    fn pass_to(&mut self, knower: Knower) {
        self.hold.pass_to(knower);
    }
}

#[cold]
#[track_caller]
fn block<T>(cx: &Cx<'_>, error: SendError<T>) -> ! {
    let text = error.to_string();
    // A value of the user's is dropped while its fibre can still wait, and not by the unwinding.
    drop(error);
    leno_kernel::layer::exit_as(Outcome::Blockaged);
    panic!("fibre {} cannot write: {text}, and its own stack unwinds already", cx.co())
}

impl<T> Clone for Out<T> {
    /// A free one.
    fn clone(&self) -> Out<T> {
        Out { sender: self.sender.clone(), hold: self.hold.another() }
    }
}

impl<T> fmt::Debug for Out<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Out({})", self.label())
    }
}
