//! Fusion while the program runs: a pipeline of chips that are put together then, as one fibre.
//!
//! Most chips are *machines*: what they do between two exchanges is a closure that is given a value, or
//! gives some. A fibre runs such a closure between its pins; two of them, one behind the other, are such a
//! closure again, without a channel between. So the machine of a pipeline is made when it is piped, and
//! [`Chip::fused`] lets one fibre run it, if their control types allow it.
//!
//! The last stage that can go on does, as `leno_control::fused` has it: whatever a stage gives goes through
//! all behind it at once. One that ends takes nothing any more, and nor does one that gives to it; those
//! before go on until they would give something.

use core::cell::Cell;
use std::any::Any;
use std::rc::Rc;

use leno_control::fused;
use leno_kernel::Name;
use leno_kernel::log::{is_on, mark};

use super::{Body, Chip};
use crate::bind::Bind;
use crate::room::roomy;
use crate::{Cx, In, Out};

/// Whether a stage takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    On,
    /// It has ended, or would write to one that takes nothing.
    Gone,
}

/// Where a stage gives its values: `Gone` if nobody takes this one.
pub(super) type Give<'a, T> = &'a mut dyn FnMut(T) -> Flow;

/// Takes a value and gives some; whether it takes another.
pub(super) type Step<A, B> = Box<dyn FnMut(A, Give<'_, B>) -> Flow>;

/// Gives values until nobody takes them, or it has no more. It calls the first closure after each, which
/// lets others run now and then.
pub(super) type Feed<T> = Box<dyn FnMut(&mut dyn FnMut(), Give<'_, T>)>;

/// Takes a value; whether it takes another.
pub(super) type Take<T> = Box<dyn FnMut(T) -> Flow>;

/// Runs from beginning to end.
pub(super) type Whole = Box<dyn FnMut(&mut dyn FnMut())>;

/// Makes a machine, anew for each fibre.
pub(super) type Make<M> = Rc<dyn Fn() -> M>;

/// Pins between which a machine can run.
pub trait Runs: Bind {
    /// What runs between them.
    type Machine: 'static;

    /// What a fibre does that runs the machine.
    fn body(make: Make<Self::Machine>) -> Rc<Body<Self>>;
}

impl<A: 'static, B: 'static> Runs for (In<A>, Out<B>) {
    type Machine = Step<A, B>;

    fn body(make: Make<Step<A, B>>) -> Rc<Body<Self>> {
        Rc::new(move |cx: &Cx<'_>, (inp, out): <Self as Bind>::Bound<'_>| {
            let mut step = make();
            while step(inp.read(cx), &mut |output| {
                out.write(cx, output);
                Flow::On
            }) == Flow::On
            {}
        })
    }
}

impl<T: 'static> Runs for Out<T> {
    type Machine = Feed<T>;

    fn body(make: Make<Feed<T>>) -> Rc<Body<Self>> {
        Rc::new(move |cx: &Cx<'_>, out: <Self as Bind>::Bound<'_>| {
            let in_a_row = Cell::new(0);
            make()(&mut || lets_others(cx, &in_a_row), &mut |value| {
                out.write(cx, value);
                in_a_row.set(0);
                Flow::On
            });
        })
    }
}

impl<T: 'static> Runs for In<T> {
    type Machine = Take<T>;

    fn body(make: Make<Take<T>>) -> Rc<Body<Self>> {
        Rc::new(move |cx: &Cx<'_>, inp: <Self as Bind>::Bound<'_>| {
            let mut take = make();
            while take(inp.read(cx)) == Flow::On {}
        })
    }
}

impl Runs for () {
    type Machine = Whole;

    fn body(make: Make<Whole>) -> Rc<Body<Self>> {
        Rc::new(move |cx: &Cx<'_>, ()| {
            let in_a_row = Cell::new(0);
            make()(&mut || lets_others(cx, &in_a_row));
        })
    }
}

/// Lets others run after so many values in a row that were not written: a loop that neither reads nor
/// writes would keep them out for ever.
fn lets_others(cx: &Cx<'_>, in_a_row: &Cell<u32>) {
    const MANY: u32 = 64;
    in_a_row.set((in_a_row.get() + 1) % MANY);
    if in_a_row.get() == 0 {
        cx.yield_now();
    }
}

/// A machine with another one behind it.
pub(super) trait Before<Next>: Sized + 'static {
    type Both;

    fn before(self, next: Next) -> Self::Both;
}

/// Gives to a stage that may be gone.
fn giver<T>(mut take: impl FnMut(T) -> Flow) -> impl FnMut(T) -> Flow {
    let mut flow = Flow::On;
    move |value| {
        if flow == Flow::Gone {
            return Flow::Gone;
        }
        flow = take(value);
        Flow::On
    }
}

impl<A: 'static, B: 'static, C: 'static> Before<Step<B, C>> for Step<A, B> {
    type Both = Step<A, C>;

    fn before(mut self, mut next: Step<B, C>) -> Step<A, C> {
        let mut flow = Flow::On;
        Box::new(move |input, give| {
            self(input, &mut |between| {
                if flow == Flow::Gone {
                    return Flow::Gone;
                }
                flow = next(between, give);
                Flow::On
            })
        })
    }
}

impl<A: 'static, B: 'static> Before<Step<A, B>> for Feed<A> {
    type Both = Feed<B>;

    fn before(mut self, mut next: Step<A, B>) -> Feed<B> {
        Box::new(move |others, give| self(others, &mut giver(|between| next(between, give))))
    }
}

impl<A: 'static, B: 'static> Before<Take<B>> for Step<A, B> {
    type Both = Take<A>;

    fn before(mut self, next: Take<B>) -> Take<A> {
        let mut give = giver(next);
        Box::new(move |input| self(input, &mut give))
    }
}

impl<A: 'static> Before<Take<A>> for Feed<A> {
    type Both = Whole;

    fn before(mut self, mut next: Take<A>) -> Whole {
        Box::new(move |others| self(others, &mut giver(&mut next)))
    }
}

/// A machine that notes in the log what it is given: what would have been an exchange by a channel.
pub(super) trait Noted {
    fn noted(self, word: Name) -> Self;
}

impl<A: 'static, B: 'static> Noted for Step<A, B> {
    fn noted(mut self, word: Name) -> Self {
        Box::new(move |input, give| {
            mark(word.clone());
            self(input, give)
        })
    }
}

impl<A: 'static> Noted for Take<A> {
    fn noted(mut self, word: Name) -> Self {
        Box::new(move |input| {
            mark(word.clone());
            self(input)
        })
    }
}

/// Both machines as one, if both chips have one, and nobody wants to see the events of either. Where the run
/// has a log, each value that passes between them is a mark in it, so that traces can be compared with those
/// of the pipeline that is not fused.
pub(super) fn both<P: Runs, Q: Runs, M: 'static>(first: &Chip<P>, next: &Chip<Q>) -> Option<Make<M>>
where
    P::Machine: Before<Q::Machine, Both = M>,
    Q::Machine: Noted,
{
    let called = |name: &Name| name.as_str().unwrap_or("unnamed").to_owned();
    let word: Name =
        format!("a value passes from {} to {}", called(first.name()), called(next.name())).into();
    let (first, next) = first.machine().zip(next.machine())?;
    Some(Rc::new(move || {
        let next = next();
        first().before(if is_on() { next.noted(word.clone()) } else { next })
    }))
}

impl<P: Runs> Chip<P> {
    /// A chip that is a machine.
    pub(super) fn of_machine(name: &'static str, make: Make<P::Machine>) -> Chip<P> {
        let body = P::body(make.clone());
        let mut chip = Chip::<P>::new(name, |_, _| {});
        chip.body = body.clone();
        chip.one = Some(One { machine: Rc::new(make), body });
        chip
    }

    /// The same chip, which may also be run as this machine.
    pub(super) fn or_machine(mut self, make: Option<Make<P::Machine>>) -> Chip<P> {
        self.one = make.map(|make| One { body: P::body(make.clone()), machine: Rc::new(make) });
        self
    }

    /// Its machine, if it has one, and nobody wants to see its own events.
    pub(super) fn machine(&self) -> Option<Make<P::Machine>> {
        let one = self.one.as_ref().filter(|_| self.types.held().is_none())?;
        one.machine.downcast_ref::<Make<P::Machine>>().cloned()
    }
}

/// A chip as one fibre.
pub(super) struct One<P: Bind> {
    /// A `Make` of the machine that these pins have.
    machine: Rc<dyn Any>,
    body: Rc<Body<P>>,
}

impl<P: Bind> Clone for One<P> {
    fn clone(&self) -> One<P> {
        One { machine: self.machine.clone(), body: self.body.clone() }
    }
}

impl<P: Bind> Chip<P> {
    /// A pipeline as one fibre: each value goes through all stages before the next one is read, with
    /// no channel and no switch between them. What comes out is the same, and what can be seen outside
    /// is allowed by the pipeline's principal type. What passed between stages is still in the log, if the run
    /// has one: as marks, since no channel is there.
    ///
    /// It stays as it is where that cannot be: if a stage is not one of the chips that are fused
    /// ([`function`](super::function), [`filter`](super::filter), [`expand`](super::expand),
    /// [`oneshot`](super::oneshot), [`splitter`](super::splitter), [`joiner`](super::joiner), their kin,
    /// [stages](super::fuse::Stage), and all sources and sinks that say their type), is held against its own
    /// type, or the types do not allow it. [`Self::is_one_fibre`] tells.
    ///
    /// # Examples
    /// ```
    /// use leno_fibre::chip::{filter, function, iterate, sink_to_list};
    /// use std::rc::Rc;
    ///
    /// let list = Rc::default();
    /// let pipeline = iterate(1..=6)
    ///     | function(|n: u32| n * n)
    ///     | filter(|n: &u32| n % 2 == 0, |n| n + 1)
    ///     | sink_to_list(Rc::clone(&list));
    /// let ran = leno_fibre::run(move |cx| pipeline.fused().start(cx, ()));
    /// assert_eq!(*list.borrow(), [5, 17, 37]);
    /// assert_eq!(ran.report().spawned, 2, "one fibre, and who started it");
    /// ```
    pub fn fused(mut self) -> Chip<P> {
        let (Some(one), Some(parts), Some(principal)) =
            (&self.one, self.types.parts(), self.control_type())
        else {
            return self;
        };
        let Ok(own) = fused(&parts) else { return self };
        if roomy(|| own.included_in(&principal)).is_ok() {
            self.body = one.body.clone();
            self.types = self.types.fused(own);
        }
        self
    }

    /// Whether one fibre alone runs it, whatever it was made of.
    pub fn is_one_fibre(&self) -> bool {
        !self.types.is_composed()
    }
}
