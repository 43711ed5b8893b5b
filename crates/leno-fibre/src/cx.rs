//! What makes code part of a fibre: the capability to spawn, read and write.

use core::marker::PhantomData;
use std::rc::Rc;

use leno_control::{ControlType, Violation};
use leno_kernel::{Co, Name, Options, Start};

use crate::bind::{Bind, Brand};
use crate::held::Held;
use crate::look::Look;
use crate::scheduler::{Doing, Scheduler};
use crate::{Fibre, SchedulerState};

/// The running fibre, as its own code sees it. Whoever has it can spawn, read and write, and so can be
/// called by fibres only; others [`run`](crate::run) or spawn it.
///
/// `'f` is the brand of the fibre. A `Cx` stays in its fibre, and on its thread.
pub struct Cx<'f> {
    co: Co,
    scheduler: Rc<Scheduler>,
    /// If it declares a control type.
    held: Option<Held>,
    brand: Brand<'f>,
}

impl<'f> Cx<'f> {
    /// That of the running coroutine, which is a fibre from now on.
    pub(crate) fn enter(scheduler: Rc<Scheduler>, held: Option<Held>) -> Cx<'f> {
        let co = leno_kernel::layer::current_stack().expect("a fibre has a stack");
        Cx { co, scheduler, held, brand: PhantomData }
    }

    /// Spawns a fibre. Whether it or this one runs on is the policy's choice; without a policy this
    /// one does.
    ///
    /// # Panics
    /// When this is not the running fibre's, or the run holds 4 million fibres already.
    ///
    /// # Examples
    /// ```
    /// let ran = leno_fibre::run(|cx| cx.spawn(|_| 6 * 7).join(cx).unwrap());
    /// assert_eq!(ran.result(), Some(42));
    /// ```
    #[track_caller]
    pub fn spawn<R: 'static>(&self, body: impl FnOnce(&Cx<'_>) -> R + 'static) -> Fibre<R> {
        self.spawner().spawn(body)
    }

    /// Spawns a fibre that alone knows `ends`: they are bound to it. So it is removed as soon as
    /// nobody can ever wake it, even if it waits in a circle.
    ///
    /// # Panics
    /// As [`Self::spawn`].
    ///
    /// # Examples
    /// Two fibres, each hungry for what only the other could write.
    /// ```
    /// use leno_fibre::{channel, run};
    ///
    /// let ran = run(|cx| {
    ///     let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
    ///     cx.spawn_bound((in1, out2), |cx, (inp, out)| out.write(cx, inp.read(cx)));
    ///     cx.spawn_bound((in2, out1), |cx, (inp, out)| out.write(cx, inp.read(cx)));
    /// });
    /// assert_eq!((ran.report().removed, ran.zombies().len()), (2, 0));
    /// ```
    #[track_caller]
    pub fn spawn_bound<E: Bind, R: 'static>(
        &self,
        ends: E,
        body: impl for<'c> FnOnce(&Cx<'c>, E::Bound<'c>) -> R + 'static,
    ) -> Fibre<R> {
        self.spawner().spawn_bound(ends, body)
    }

    /// Spawns a fibre that is active, while this one runs on in any case.
    ///
    /// # Panics
    /// As [`Self::spawn`].
    #[track_caller]
    pub fn spawn_later<R: 'static>(&self, body: impl FnOnce(&Cx<'_>) -> R + 'static) -> Fibre<R> {
        self.spawner().later().spawn(body)
    }

    /// For a fibre with a name, another stack, or a later start.
    pub fn spawner(&self) -> Spawner<'_, 'f> {
        Spawner { cx: self, options: Options::new(), is_later: false, control: None }
    }

    /// Lets other active fibres run first.
    ///
    /// # Cancellation
    /// When the fibre is to end, this unwinds its stack.
    ///
    /// # Panics
    /// When this is not the running fibre's.
    #[track_caller]
    pub fn yield_now(&self) {
        self.does(Doing::Other);
        leno_kernel::yield_now();
    }

    /// Removes all fibres of this run whom nobody can ever wake, as far as bound ends tell: they have
    /// their last turn, in which their destructors run, when it comes. How many they are.
    ///
    /// It happens by itself when nothing can run, and when the number of fibres has doubled.
    #[track_caller]
    pub fn sweep(&self) -> usize {
        self.check();
        leno_kernel::layer::ledger::sweep()
    }

    /// Every fibre and channel of this run, as they are now.
    #[track_caller]
    pub fn look(&self) -> Look {
        self.check();
        Look::of(&self.scheduler)
    }

    /// Which fibre it is.
    pub fn co(&self) -> Co {
        self.co
    }

    /// How many runs there are, from the outermost to this fibre's.
    pub fn depth(&self) -> usize {
        self.scheduler.depth()
    }

    /// The states of the runs from the outermost to this fibre's.
    pub fn schedulers(&self) -> Vec<SchedulerState> {
        self.scheduler.states()
    }

    /// # Panics
    /// When this is not the running fibre's.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn check(&self) {
        let current = leno_kernel::layer::current_stack();
        if current != Some(self.co) {
            self.refuse(current);
        }
    }

    /// The same, and lets the policy know what comes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn does(&self, doing: Doing) {
        self.check();
        self.scheduler.doing.set(doing);
    }

    /// It is about to do this, if its control type allows it.
    ///
    /// # Panics
    /// If that does not.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn held(&self, event: impl FnOnce(&Held) -> Result<(), Violation>) {
        if let Some(held) = &self.held {
            self.hold(event(held));
        }
    }

    #[cold]
    #[track_caller]
    fn hold(&self, step: Result<(), Violation>) {
        if let Err(violation) = step {
            panic!("fibre {} does not keep to its control type: {violation}", self.co);
        }
    }

    #[cold]
    #[track_caller]
    fn refuse(&self, current: Option<Co>) -> ! {
        let who =
            current.map_or("code that no core runs".to_owned(), |co| format!("coroutine {co}"));
        panic!("the context of fibre {} was used by {who}: a fibre's context is its own", self.co)
    }
}

impl core::fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Cx({})", self.co)
    }
}

/// A fibre to be spawned; see [`Cx::spawner`].
///
/// # Examples
/// ```
/// leno_fibre::run(|cx| {
///     cx.spawner().name("cook").stack_size(256 * 1024).spawn(|_| println!("soup"));
/// });
/// ```
#[derive(Clone, Debug)]
#[must_use = "it spawns nothing by itself"]
pub struct Spawner<'a, 'f> {
    cx: &'a Cx<'f>,
    options: Options,
    is_later: bool,
    control: Option<ControlType>,
}

impl Spawner<'_, '_> {
    /// The name that messages, reports and pictures show.
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.options = self.options.name(name);
        self
    }

    /// Bytes of stack: a hint.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.options = self.options.stack_size(bytes);
        self
    }

    /// More is more urgent, to policies that care.
    pub fn priority(mut self, priority: i32) -> Self {
        self.options = self.options.priority(priority);
        self
    }

    /// Whoever spawns runs on: the new fibre is active.
    pub fn later(mut self) -> Self {
        self.is_later = true;
        self
    }

    /// Holds it against a control type: it panics before the first event that the type does not allow,
    /// and when it returns where the type does not let it end. A channel whose name is a port of the
    /// type is that port; every other one is the port without a name.
    ///
    /// # Examples
    /// ```
    /// let ran = leno_fibre::run(|cx| {
    ///     let (_out, inp) = leno_fibre::channel::<u32>();
    ///     let wrong = cx.spawner().control_type(&"W".parse().unwrap()).spawn(move |cx| inp.read(cx));
    ///     wrong.join(cx).unwrap_err().to_string()
    /// });
    /// let text = ran.result().unwrap();
    /// assert!(text.contains("`W` does not allow R as event 1"), "{text}");
    /// ```
    pub fn control_type(mut self, control: &ControlType) -> Self {
        self.control = Some(control.clone());
        self
    }

    /// As [`Cx::spawn`].
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn spawn<R: 'static>(self, body: impl FnOnce(&Cx<'_>) -> R + 'static) -> Fibre<R> {
        self.spawn_bound((), move |cx, ()| body(cx))
    }

    /// As [`Cx::spawn_bound`].
    ///
    /// Until the fibre has started, its ends are known to the world: it is active, so it is reachable
    /// itself.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn spawn_bound<E: Bind, R: 'static>(
        self,
        ends: E,
        body: impl for<'c> FnOnce(&Cx<'c>, E::Bound<'c>) -> R + 'static,
    ) -> Fibre<R> {
        self.cx.does(if self.is_later { Doing::Other } else { Doing::Spawns });
        self.cx.held(Held::spawns);
        let (scheduler, held) = (self.cx.scheduler.clone(), self.control.as_ref().map(Held::to));
        let whole = move || {
            let cx = Cx::enter(scheduler, held);
            let ends = ends.bind(&cx);
            let result = body(&cx, ends);
            cx.held(Held::ends);
            result
        };
        // One that is to wait for its first turn is no candidate for running on.
        let start = if self.is_later { Start::Idle } else { Start::Ready };
        let options = self.options.start(start);
        match leno_kernel::try_spawn_local(&options, whole) {
            Ok(handle) => {
                if self.is_later {
                    handle.unpark();
                }
                Fibre::new(handle)
            }
            Err(error) => panic!("a fibre was not spawned: {error}"),
        }
    }
}
