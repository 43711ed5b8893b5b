//! What a system, its handles and its coroutines share.

use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::{choose, current_stack, world};
use leno_kernel::log::Operation;
use leno_kernel::policy::{Candidate, Choice, ChoiceKind};
use leno_kernel::{Co, Object, Reason, Time, Waiter, Wake, exit, park, park_until};

use crate::call::AnyCall;
use crate::party::Outsider;
use crate::table::{Asker, Caller, Id, Leavings, Next, Question, Requester, Table, Undecided};
use crate::{Failure, Refusal, helm, turn};
use leno_kernel::layer::user::{Locked, lock};

/// Is told of failures that reach no caller.
pub(crate) type Hook = dyn Fn(Failure) + Send + Sync;

/// See the module.
pub(crate) struct Shared {
    own: Weak<Shared>,
    table: Mutex<Table>,
    /// Who runs a policy or the observer: it may not operate on the system. And how many there are.
    askers: Mutex<Vec<Asker>>,
    asks: AtomicUsize,
    /// Whether it has ended, as the table says.
    has_ended: Arc<AtomicBool>,
    /// Names the system.
    object: Object,
    pub(crate) hook: Option<Box<Hook>>,
    /// Whether it has no home core, so that whoever calls steers.
    pub(crate) is_threadless: bool,
    /// Of a system without a home core, what has reached neither a caller nor the hook.
    failures: Mutex<Vec<Failure>>,
}

/// What belongs to users is dropped by whoever lets the system go last, and ends nobody.
impl Drop for Shared {
    fn drop(&mut self) {
        let rest = self.table.get_mut().unwrap_or_else(PoisonError::into_inner).take_rest();
        user::discard_all(rest);
        user::discard(self.hook.take());
        let failures = self.failures.get_mut().unwrap_or_else(PoisonError::into_inner);
        user::discard_all(core::mem::take(failures));
    }
}

/// An operation is performed. However it ends, what it leaves is seen to when the lock is free.
struct InOperation<'a> {
    shared: &'a Shared,
    table: Option<Locked<'a, Table>>,
    /// Who is told when the lock is free, before code of users is called: that may not return soon.
    told: Told,
}

impl InOperation<'_> {
    /// Whether policies are to be asked, or the observer is to be told; and an exit that was raised by what was woken
    /// and dropped.
    #[inline]
    fn end(&mut self) -> (bool, Option<Panic>) {
        let Some(mut table) = self.table.take() else { return (false, None) };
        let leavings = table.take_leavings();
        let has_questions = table.has_questions();
        drop(table);
        self.shared.go_on_with(core::mem::replace(&mut self.told, Told::Nobody));
        (has_questions, leavings.and_then(see_to))
    }
}

impl Drop for InOperation<'_> {
    fn drop(&mut self) {
        if self.end().0 {
            drop(self.shared.consult());
        }
    }
}

/// Wakes and drops what an operation leaves; with an exit that this has raised, which goes on when everything is done.
fn see_to(leavings: Leavings) -> Option<Panic> {
    if leno_kernel::layer::is_planted("threadless-stops") {
        leavings.see_to();
        return None;
    }
    user::call(|| leavings.see_to()).err()
}

/// Who has to be told that somebody is ready.
enum Told {
    /// Nobody is ready, or someone looks by itself.
    Nobody,
    /// The coroutine that schedules, on the home core.
    Scheduler(Co),
    /// Nobody could be found who would steer.
    Helper,
}

/// Goes on with what a policy or an observer has raised, unless the calling code unwinds already.
pub(crate) fn raise(raised: Option<Panic>) {
    if let Some(raised) = raised
        && !std::thread::panicking()
    {
        raised.resume();
    }
}

impl Shared {
    pub(crate) fn new(table: Table, hook: Option<Box<Hook>>, is_threadless: bool) -> Arc<Shared> {
        Arc::new_cyclic(|own| Shared {
            own: own.clone(),
            askers: Mutex::default(),
            asks: AtomicUsize::new(0),
            has_ended: table.has_ended.clone(),
            table: Mutex::new(table),
            object: Object::shared(),
            hook,
            is_threadless,
            failures: Mutex::default(),
        })
    }

    pub(crate) fn lock(&self) -> Locked<'_, Table> {
        lock(&self.table)
    }

    /// Whether it has ended, by now perhaps.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    /// Before an operation: in a world, others may run first.
    ///
    /// # Panics
    /// When a policy or the observer of this system operates on it.
    #[inline]
    pub(crate) fn point(&self) {
        if self.asks.load(Relaxed) > 0 {
            self.refuse(Asker::is_around);
        }
        world::point(Operation::Lock, Some(self.object));
    }

    /// The same before scheduling, which is an operation only if somebody is ready.
    pub(crate) fn point_if_ready(&self) {
        if world::is_here() && self.lock().is_ready() {
            self.point();
        }
    }

    /// An operation: one critical section. Whoever is to be woken is woken after it.
    pub(crate) fn operate<T>(&self, f: impl FnOnce(&mut Table) -> T) -> T {
        let (result, raised) = self.operate_holding(f);
        raise(raised);
        result
    }

    /// The same for one who has more to do before it goes on with what an observer, a policy of requests, or an exit
    /// has raised.
    #[must_use = "what was raised goes on: see `raise`"]
    pub(crate) fn operate_holding<T>(&self, f: impl FnOnce(&mut Table) -> T) -> (T, Option<Panic>) {
        let (result, has_questions, exit) = self.operate_quietly(|table, _| f(table));
        (result, self.consult_if(has_questions, exit))
    }

    /// The same for one who has more to do before policies are asked and the observer is told, which may take their
    /// time: see [`Self::consult_if`].
    fn operate_quietly<T>(
        &self,
        f: impl FnOnce(&mut Table, &mut Told) -> T,
    ) -> (T, bool, Option<Panic>) {
        let mut operation =
            InOperation { shared: self, table: Some(self.lock()), told: Told::Nobody };
        let InOperation { table, told, .. } = &mut operation;
        let result = f(table.as_mut().expect("it is locked"), told);
        let (has_questions, exit) = operation.end();
        (result, has_questions, exit)
    }

    /// The same for one who schedules, and so goes on whatever an observer or a policy of requests raises: the
    /// failure hook is told.
    pub(crate) fn operate_as_scheduler<T>(&self, f: impl FnOnce(&mut Table) -> T) -> T {
        let (result, exit) = self.operate_while_steering(f);
        raise(exit);
        result
    }

    /// Performs an operation of one who schedules and has more to do before it exits itself. Returns an exit that was raised.
    #[must_use = "an exit goes on: see `raise`"]
    pub(crate) fn operate_while_steering<T>(
        &self,
        f: impl FnOnce(&mut Table) -> T,
    ) -> (T, Option<Panic>) {
        let (result, raised) = self.operate_holding(f);
        (result, raised.and_then(|raised| user::report("an observer or a policy", raised)))
    }

    /// The same from outside: whoever schedules has to be told, if there is something to do.
    pub(crate) fn operate_from_outside<T>(self: &Arc<Self>, f: impl FnOnce(&mut Table) -> T) -> T {
        let (result, raised) = self.operate_from_outside_holding(f);
        raise(raised);
        result
    }

    /// The same for one who has more to do before it goes on with what was raised.
    #[must_use = "what was raised goes on: see `raise`"]
    pub(crate) fn operate_from_outside_holding<T>(
        &self,
        f: impl FnOnce(&mut Table) -> T,
    ) -> (T, Option<Panic>) {
        let (result, has_questions, exit) = self.operate_quietly(|table, told| {
            let result = f(table);
            // Nobody is told before policies and the observer were: they see it first.
            if !table.has_questions() {
                *told = self.next_to_go_on(table);
            }
            result
        });
        if !has_questions {
            return (result, exit);
        }
        let raised = user::first(exit, self.consult());
        (result, user::first(raised, self.go_on()))
    }

    /// Has policies asked and the observer told. Returns what they raise, or what was raised before.
    #[inline]
    fn consult_if(&self, has_questions: bool, before: Option<Panic>) -> Option<Panic> {
        if has_questions { user::first(before, self.consult()) } else { before }
    }

    /// Asks the policies and tells the observer what the operations so far leave to do. Returns what they raise.
    #[cold]
    #[inline(never)]
    fn consult(&self) -> Option<Panic> {
        let mut raised = None;
        loop {
            let mut next = self.lock().next_undecided();
            let has_asked = next.is_some();
            while let Some(undecided) = next {
                let panic;
                (next, panic) = self.decide(undecided);
                raised = user::first(raised, panic);
            }
            if has_asked {
                raised = user::first(raised, self.go_on());
            }
            let events = self.lock().take_events();
            let Some((mut observer, events)) = events else {
                if has_asked {
                    continue;
                }
                return raised;
            };
            let told = self.ask(|| {
                events.iter().for_each(|(event, seen)| (observer.call)(event, seen.as_ref()));
            });
            let gone = match told {
                Ok(()) => self.lock().put_back(observer),
                // An exit is none of its faults. Of the events that it was given it is not told again.
                Err(exit) if user::is_exit(&exit) => {
                    raised = user::first(raised, Some(exit));
                    self.lock().put_back(observer)
                }
                Err(panic) => {
                    self.lock().is_unobserved();
                    raised = user::first(raised, Some(panic));
                    Some(observer)
                }
            };
            user::discard(gone);
        }
    }

    /// A3 and A4; with what the policy has raised.
    fn decide(&self, mut undecided: Undecided) -> (Option<Undecided>, Option<Panic>) {
        let (place, raised) = match self.ask(|| undecided.ask()) {
            Ok(place) => (place, None),
            Err(panic) => {
                // An exit is none of its faults.
                if !user::is_exit(&panic) {
                    user::discard(undecided.depose());
                }
                (0, Some(panic))
            }
        };
        let mut table = self.lock();
        let again = table.decide(undecided, place);
        let leavings = table.take_leavings();
        drop(table);
        (again, user::first(raised, leavings.and_then(see_to)))
    }

    /// Whoever schedules is told, if there is something to do. Returns an exit that was raised.
    pub(crate) fn go_on(&self) -> Option<Panic> {
        let mut table = self.lock();
        let next = self.next_to_go_on(&mut table);
        let leavings = table.take_leavings();
        drop(table);
        self.go_on_with(next);
        leavings.and_then(see_to)
    }

    #[inline]
    fn next_to_go_on(&self, table: &mut Table) -> Told {
        if self.is_threadless {
            return if table.hand_over() { Told::Helper } else { Told::Nobody };
        }
        let scheduler = table.scheduler.filter(|_| table.is_ready() && !table.is_listening);
        scheduler.map_or(Told::Nobody, Told::Scheduler)
    }

    #[inline]
    fn go_on_with(&self, next: Told) {
        match next {
            Told::Nobody => {}
            Told::Scheduler(own) => Waiter::Co(own).wake(),
            Told::Helper => {
                helm::send_helper(&self.own.upgrade().expect("whoever operates keeps the system"));
            }
        }
    }

    /// Q2 and Q3; with an exit that this has raised. Nobody is scheduled if the policy has raised it.
    ///
    /// # Panics
    /// With what else the policy has raised. It is gone then, and the one who schedules stops the system.
    pub(crate) fn answer(&self, mut question: Question) -> (Next, Option<Panic>) {
        match self.ask(|| question.ask()) {
            Ok(place) => {
                self.operate_while_steering(|table| table.schedule_chosen(question, place))
            }
            // An exit is none of its faults.
            Err(exit) if user::is_exit(&exit) => {
                self.lock().put_back_policy(question);
                (Next::InVain, Some(exit))
            }
            Err(panic) => {
                user::discard(question);
                panic.resume()
            }
        }
    }

    /// C3 of [`helm`]: takes the helm, if somebody could be scheduled and nobody has it. Nobody is asked or told of
    /// anything that could raise while it is held.
    pub(crate) fn take_helm(&self) -> bool {
        self.lock().take_helm()
    }

    /// Schedules one of those who wait.
    pub(crate) fn schedule(&self) -> Next {
        let mut next = self.operate_as_scheduler(Table::schedule);
        while let Next::Ask(question) = next {
            let exit;
            (next, exit) = self.answer(question);
            raise(exit);
        }
        next
    }

    /// Calls a policy or the observer, which may not operate on the system meanwhile.
    fn ask<R>(&self, f: impl FnOnce() -> R) -> Result<R, Panic> {
        let own = Asker::here();
        lock(&self.askers).push(own);
        self.asks.fetch_add(1, Relaxed);
        let result = user::call(f);
        let mut askers = lock(&self.askers);
        if let Some(place) = askers.iter().rposition(|other| *other == own) {
            askers.remove(place);
        }
        drop(askers);
        self.asks.fetch_sub(1, Relaxed);
        result
    }

    /// Does what [`Self::point`] does, before a call that waits.
    ///
    /// # Panics
    /// As [`Self::point`], and when another member of the ring of the calling code runs a policy or the observer, which
    /// would not go on.
    #[inline]
    pub(crate) fn point_to_wait(&self) {
        if self.asks.load(Relaxed) > 0 {
            self.refuse(Asker::is_kept);
        }
        self.point();
    }

    #[cold]
    fn refuse(&self, is_asker: impl Fn(&Asker) -> bool) {
        let is_asker = lock(&self.askers).iter().any(is_asker);
        assert!(
            !is_asker,
            "a policy or an observer operates on the flexible system that calls it, which waits for it meanwhile"
        );
    }

    /// A call from outside, by one who waits for what comes of it, and steers meanwhile, if nobody else does
    /// and there is no home core, until `is_settled` or `limit`. With what an observer or a policy has raised: then the
    /// call is there all the same, and whoever unwinds takes it back.
    pub(crate) fn call_from_outside(
        self: &Arc<Self>,
        m: Id,
        call: Arc<dyn AnyCall>,
        limit: Option<Time>,
        is_settled: impl Fn() -> bool,
    ) -> (Result<(), Refusal>, Option<Panic>) {
        let from = Requester::Outside(Outsider::here());
        if !self.is_threadless {
            return self
                .operate_from_outside_holding(|table| table.call_from_outside(from, m, call));
        }
        let in_world = world::is_here();
        let is_direct = !in_world || self.driver_serves_at_once(m);
        let mut caller = Some(Caller { from, call });
        // From when it takes the helm: what the operation leaves is code of users.
        let Some(_steers) = turn::steers(self) else {
            let Caller { from, call } = caller.take().expect("nobody has called yet");
            return self
                .operate_from_outside_holding(|table| table.call_from_outside(from, m, call));
        };
        let (first, has_questions, exit) = self.operate_quietly(|table, _| {
            if is_direct && let Some(next) = table.call_directly(m, &mut caller) {
                return Ok(Some(Some(next)));
            }
            let Caller { from, call } = caller.take().expect("nobody has called yet");
            table.call_from_outside(from, m, call)?;
            let takes_helm = table.take_helm();
            // In a world others may do something first.
            Ok(takes_helm.then(|| (!in_world).then(|| table.schedule())))
        });
        // One that has the helm steers first; not for long if it is to exit.
        let is_exiting = exit.is_some();
        let mut exit = exit;
        let called = first.map(|first| {
            if let Some(first) = first {
                let raised = helm::steer(self, first, limit, || is_exiting || is_settled());
                exit = user::first(exit.take(), raised);
            }
        });
        (called, self.consult_if(has_questions, exit))
    }

    /// In a world: whether a call of `m` is served at once, if that can be, or others may do something first. The driver
    /// decides; nobody else runs until the call is made.
    #[cold]
    fn driver_serves_at_once(&self, m: Id) -> bool {
        let ways = [Candidate::Number(0), Candidate::Number(1)];
        let choice = Choice::new(ChoiceKind::After, Some(self.object), &ways);
        self.lock().serves_at_once(m) && choose(&choice) == 0
    }

    /// Reports the panic of a body that nobody has called. Returns an exit that the hook has raised.
    #[must_use = "an exit goes on: see `raise`"]
    pub(crate) fn report(&self, failure: Failure) -> Option<Panic> {
        match &self.hook {
            Some(hook) => {
                if leno_kernel::layer::is_planted("helper-dies") {
                    hook(failure);
                    return None;
                }
                let panic = user::call(|| hook(failure)).err()?;
                user::report("a failure hook", panic)
            }
            None => {
                lock(&self.failures).push(failure);
                None
            }
        }
    }

    pub(crate) fn take_failures(&self) -> Vec<Failure> {
        core::mem::take(&mut lock(&self.failures))
    }

    /// The coroutine of this system that runs the calling code.
    pub(crate) fn current(self: &Arc<Self>) -> Option<Id> {
        if self.is_threadless {
            return turn::coroutine(self);
        }
        let co = current_stack()?;
        self.lock().of_co(co)
    }

    /// Whoever runs the calling code, as this system sees it.
    pub(crate) fn requester(self: &Arc<Self>) -> Requester {
        // One that is gone does nothing any more.
        let own = self.current().and_then(|id| {
            let table = self.lock();
            table.get(id).is_some().then(|| table.as_requester(id))
        });
        own.unwrap_or_else(|| Requester::Outside(Outsider::here()))
    }

    /// Parks the calling coroutine until it is active again.
    ///
    /// # Errors
    /// When it cannot park, because its stack unwinds.
    pub(crate) fn sleep(&self, id: Id) -> Result<(), Refusal> {
        self.sleep_until(id, None).map(|_| ())
    }

    /// The same, until `limit` at most. Whether it is active.
    ///
    /// # Errors
    /// When it cannot park, because its stack unwinds.
    pub(crate) fn sleep_until(&self, id: Id, limit: Option<Time>) -> Result<bool, Refusal> {
        loop {
            if self.lock().is_active(id) {
                return Ok(true);
            }
            let wake = match limit {
                Some(limit) => park_until(Reason::Passive, limit),
                None => park(Reason::Passive),
            };
            match wake {
                Wake::Unparked => {}
                Wake::TimedOut => return Ok(false),
                Wake::Exit => {
                    exit();
                    return Err(Refusal::Exiting);
                }
            }
        }
    }
}
