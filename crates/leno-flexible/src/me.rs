//! What a body has of its coroutine.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use leno_kernel::can_park;
use leno_kernel::layer::current_stack;

use crate::builder::Builder;
use crate::call::{AnyCall, Types, typed};
use crate::shared::{Shared, raise};
use crate::table::{Id, Table};
use crate::{Flexible, Party, Refusal, State};

/// A body's own coroutine: what only it can do. `P` is what it is called with, `R` what it answers.
///
/// Others are called and kicked through their handles, [`Flexible`].
///
/// While the stack unwinds, nothing here parks: detach, passivate and yield do nothing, and resume is
/// refused.
pub struct Me<P, R> {
    shared: Arc<Shared>,
    id: Id,
    /// What is answered at the end.
    last: Option<R>,
    types: Types<P, R>,
    /// It stays in its body.
    stays: PhantomData<*const ()>,
}

impl<P: Send + 'static, R: Send + 'static> Me<P, R> {
    pub(crate) fn new(shared: Arc<Shared>, id: Id) -> Me<P, R> {
        Me { shared, id, last: None, types: PhantomData, stays: PhantomData }
    }

    /// The parameter of the present call: once, and only while someone has called.
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{Me, System};
    ///
    /// let system = System::new();
    /// let sum = system.create("sum", |me: &mut Me<u32, u32>| {
    ///     let mut sum = 0;
    ///     loop {
    ///         sum += me.parameter().unwrap_or(0);
    ///         me.detach(sum);
    ///     }
    /// });
    /// assert_eq!((sum.call(3)?, sum.call(4)?), (3, 7));
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    pub fn parameter(&mut self) -> Option<P> {
        let call = self.shared.lock().cell(self.id).caller.as_ref()?.call.clone();
        typed::<P, R>(&*call).take_parameter()
    }

    /// Who has called, if anyone.
    pub fn caller(&self) -> Option<Party> {
        self.shared.lock().cell(self.id).caller.as_ref().map(|caller| caller.from.party())
    }

    /// What it is called.
    pub fn name(&self) -> Arc<str> {
        self.shared.lock().cell(self.id).name.clone()
    }

    /// Answers whoever has called, who goes on, and is idle until it is called, kicked or resumed; without
    /// a caller the answer is dropped. (Rules 4.5, 4.6, 4.14.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Panics
    /// When another coroutine than this one calls it, or when this one runs out of turn: another coroutine has attached
    /// it, and not its system.
    pub fn detach(&mut self, answer: R) {
        self.last = None;
        // Left and dropped here, not under the lock, if nobody has called.
        let mut settle = Some(|call: &dyn AnyCall| typed::<P, R>(call).answer(Ok(answer)));
        self.leave_or_panic(|table, id| table.detach(id, &mut settle));
    }

    /// What whoever has called gets when the body ends. A detach before that makes it void.
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{Me, System};
    ///
    /// let system = System::new();
    /// let once = system.create("once", |me: &mut Me<(), u32>| me.answer(42));
    /// assert_eq!(once.call(())?, 42);
    /// assert!(once.call(()).is_err(), "it has terminated");
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    pub fn answer(&mut self, answer: R) {
        self.last = Some(answer);
    }

    pub(crate) fn take_last(&mut self) -> Option<R> {
        self.last.take()
    }

    /// Is idle until it is kicked or resumed. Whoever has called stays blocked. (Rule 4.9.)
    ///
    /// If whoever has called gives up meanwhile, the next call may be attached, and ends this, too: then
    /// [`Self::parameter`] has something again.
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Panics
    /// When another coroutine than this one calls it, or when this one runs out of turn: another coroutine has attached
    /// it, and not its system.
    pub fn passivate(&mut self) {
        self.leave_or_panic(Table::passivate);
    }

    /// Lets others be active, and waits for its next turn. (Rule 4.10.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Panics
    /// When another coroutine than this one calls it, or when this one runs out of turn: another coroutine has attached
    /// it, and not its system.
    #[doc(alias = "yield")]
    pub fn yield_now(&mut self) {
        self.leave_or_panic(Table::yield_now);
    }

    /// Hands over to `other`, or to the bottom of its chain of callees, and is idle. (Rule 4.7.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Errors
    /// When `other` is not idle, has terminated, or is of another system; in Simula mode also when it is
    /// attached; and when this coroutine runs out of turn. Then this coroutine goes on.
    ///
    /// # Panics
    /// When another coroutine than this one calls it.
    pub fn resume<Q, S>(&mut self, other: &Flexible<Q, S>) -> Result<(), Refusal> {
        if !Arc::ptr_eq(&self.shared, other.shared()) {
            return Err(Refusal::Foreign { by: self.name(), coroutine: other.name() });
        }
        match self.leave(|table, id| table.resume(id, other.id())) {
            Some(result) => result,
            None => Err(Refusal::Exiting),
        }
    }

    /// Makes a coroutine of the same system; see [`System::create`](crate::System::create).
    ///
    /// # Errors
    /// None; a system holds as many as there is memory for.
    #[track_caller]
    pub fn create<Q: Send + 'static, S: Send + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        body: impl FnOnce(&mut Me<Q, S>) + Send + 'static,
    ) -> Flexible<Q, S> {
        self.coroutine(name).create(body)
    }

    /// The same, with a shape, a priority or a policy.
    pub fn coroutine(&mut self, name: impl Into<Arc<str>>) -> Builder {
        Builder::new(self.shared.clone(), name.into())
    }

    /// A spinning body begins again.
    pub(crate) fn spin(&mut self) {
        self.shared.point();
        self.shared.operate(|table| table.spin(self.id));
    }

    /// The same for one that is never refused in its own turn.
    fn leave_or_panic(&mut self, operation: impl FnOnce(&mut Table, Id)) {
        let left = self.leave(|table, id| {
            operation(table, id);
            Ok(())
        });
        if let Some(Err(refusal @ Refusal::TurnEnded { .. })) = left {
            panic!("{refusal}");
        }
    }

    /// An operation that ends the turn; `None` while the stack unwinds.
    fn leave(
        &mut self,
        operation: impl FnOnce(&mut Table, Id) -> Result<(), Refusal>,
    ) -> Option<Result<(), Refusal>> {
        self.check();
        if !can_park() {
            return None;
        }
        self.shared.point();
        let (done, raised) = self.shared.operate_holding(|table| {
            table.check_turn(self.id)?;
            operation(table, self.id)
        });
        let slept = done.and_then(|()| self.shared.sleep(self.id));
        // What an observer has raised goes on when this coroutine is active: others are meanwhile.
        raise(raised);
        Some(slept)
    }

    fn check(&self) {
        // Not raised while the table is locked: the panic hook is code of a user.
        let is_own = self.shared.lock().co_of(self.id) == current_stack();
        assert!(
            is_own,
            "the operations of coroutine '{}' are for its own body, and another one uses them",
            self.name()
        );
    }
}

impl<P, R> fmt::Debug for Me<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not written while the table is locked: what it is written into is code of a user.
        let own = self.shared.lock().get(self.id).map(|cell| (cell.name.clone(), cell.state));
        match own {
            Some((name, state)) => write!(f, "Me({name}[{state}])"),
            None => write!(f, "Me({})", State::Terminated),
        }
    }
}

/// A body that begins again at its end, for ever, and keeps whoever has called it. (Dovland 2006, 4.6.1.)
///
/// # Examples
/// ```
/// use leno_flexible::{Me, System, spinning};
///
/// let system = System::new();
/// let double = system.create("double", spinning(|me: &mut Me<u32, u32>| {
///     let n = me.parameter().unwrap_or(0);
///     me.detach(2 * n);
/// }));
/// assert_eq!((double.call(3)?, double.call(4)?), (6, 8));
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub fn spinning<P: Send + 'static, R: Send + 'static>(
    mut body: impl FnMut(&mut Me<P, R>),
) -> impl FnOnce(&mut Me<P, R>) {
    move |me| {
        loop {
            body(me);
            me.spin();
        }
    }
}
