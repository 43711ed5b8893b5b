//! What generated code calls, called by hand: hidden, but public and safe, so it must be sound with any arguments.
#![forbid(unsafe_code)]
#![allow(clippy::manual_async_fn, reason = "bodies are written as a trait asks for them")]

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use leno_frame::internal::{Args, Function, Place, Seed, Step};
use leno_frame::{Call, Co, Format, Options, Resumable, Routine, State, Suspend, resumable};

/// Awaits what `#[resumable]` is not to see.
macro_rules! wait {
    ($e:expr) => {
        $e.await
    };
}

static TOKEN: Mutex<Option<Args<Keeps>>> = Mutex::new(None);
static TAKEN: Mutex<Option<String>> = Mutex::new(None);
struct Keeps;
struct Takes;

impl Routine for Keeps {
    type Yield = ();
    type Input = ();
    type Context = ();
    type Args = (String,);
    type Output = ();

    fn body<'f>(
        _: Seed<'f, (), (), ()>,
        args: Args<Keeps>,
    ) -> impl Future<Output = ()> + Send + 'f {
        async move { *TOKEN.lock().unwrap() = Some(args) }
    }
}

impl Routine for Takes {
    type Yield = ();
    type Input = ();
    type Context = ();
    type Args = ([usize; 3],);
    type Output = ();

    fn body<'f>(
        mut seed: Seed<'f, (), (), ()>,
        _: Args<Takes>,
    ) -> impl Future<Output = ()> + Send + 'f {
        async move {
            let token = TOKEN.lock().unwrap().take().unwrap();
            let (text,) = seed.handle().arguments(token);
            *TAKEN.lock().unwrap() = Some(text);
        }
    }
}

#[test]
fn arguments_kept_by_one_routine_are_its_own_in_another() {
    let keep = |_: &mut Co<()>, text: String| Call::<Keeps>::new((text,));
    let take = |_: &mut Co<()>, numbers: [usize; 3]| Call::<Takes>::new((numbers,));
    let (_, state) = Resumable::<(), (), ()>::start(&mut (), keep, ("mine".to_string(),));
    assert_eq!(state, State::Complete(()));
    let _ = Resumable::<(), (), ()>::start(&mut (), take, ([16, 0x1000, 16],));
    assert_eq!(TAKEN.lock().unwrap().as_deref(), Some("mine"));
}

#[resumable]
async fn callee(co: &mut Co<usize>, text: String) -> usize {
    assert!(text.starts_with("the string"));
    co.suspend(text.len()).await;
    text.len()
}

#[resumable]
async fn caller(co: &mut Co<usize>) {
    {
        let call = callee(co, "the string that was an argument".repeat(2));
        let mut slot = Box::new(co.hold(call));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut co.step(&mut *slot)).poll(&mut cx).is_pending());
    }
    let _ = (0..32).map(|_| Box::new([0x4141_4141usize; 4])).collect::<Vec<_>>();
    wait!(pending::<()>());
}

#[test]
fn a_call_begun_by_hand_has_its_arguments_when_its_slot_is_gone() {
    let (_, state) = Resumable::start(&mut (), caller, ());
    assert_eq!(state, State::Suspended(62));
}

/// Takes a call back when it is dropped, or counts.
struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

type World = Vec<String>;

/// A body by hand, which holds its handle for as long as it likes, and does what it is told.
struct Holds;

/// What a [`Holds`] does before it is polled, when it is polled and when it is dropped.
#[derive(Clone, Copy)]
enum Deed {
    /// Borrows the context while the frame is made.
    BorrowEarly,
    /// Borrows it when polled, keeps it, and panics.
    BorrowAndPanic,
    /// The same, and waits for something else.
    BorrowAndWait,
    /// Calls itself from its destructor.
    CallInDrop,
}

enum Held<'f> {
    Co(&'f mut Co<u32, u32, World>),
    Context(&'f mut World),
    Nothing,
}

struct Body<'f> {
    deed: Deed,
    held: Held<'f>,
    _counts: Counts,
}

impl Future for Body<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Held::Co(co) = std::mem::replace(&mut this.held, Held::Nothing) else {
            return Poll::Pending;
        };
        match this.deed {
            Deed::BorrowAndPanic => {
                this.held = Held::Context(co.ctx());
                panic!("with the context in hand");
            }
            Deed::BorrowAndWait => this.held = Held::Context(co.ctx()),
            Deed::BorrowEarly | Deed::CallInDrop => {
                let suspend = co.suspend(1);
                let _ = co.hold(suspend);
                this.held = Held::Co(co);
            }
        }
        Poll::Pending
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Context(world) => world.push("dropped".repeat(10)),
            Held::Co(co) => {
                let suspend = co.suspend(3);
                let _ = co.hold(suspend);
                let counts = Counts(self._counts.0.clone());
                let _ = co.hold(Call::<Holds>::new((Deed::CallInDrop, counts)));
                assert!(catch_unwind(AssertUnwindSafe(|| co.ctx().push("no".into()))).is_err());
            }
            Held::Nothing => {}
        }
    }
}

impl Routine for Holds {
    type Yield = u32;
    type Input = u32;
    type Context = World;
    type Args = (Deed, Counts);
    type Output = ();

    fn body<'f>(
        seed: Seed<'f, u32, u32, World>,
        args: Args<Holds>,
    ) -> impl Future<Output = ()> + Send + 'f {
        let co = Box::leak(Box::new(seed)).handle();
        let (deed, counts) = co.arguments(args);
        let mut held = Held::Co(co);
        if let (Deed::BorrowEarly, Held::Co(co)) = (deed, &mut held) {
            co.ctx().push("early".into());
        }
        Body { deed, held, _counts: counts }
    }
}

fn hold(deed: Deed, counts: &Arc<AtomicUsize>) -> Call<Holds> {
    Call::new((deed, Counts(counts.clone())))
}

#[resumable]
async fn calls(co: &mut Co<u32, u32, World>, deed: u8) {
    let counts = Arc::new(AtomicUsize::new(0));
    let deed = [Deed::BorrowEarly, Deed::BorrowAndPanic, Deed::BorrowAndWait, Deed::CallInDrop]
        [usize::from(deed)];
    let _ = co.hold(hold(deed, &counts));
    wait!(pending::<()>());
}

fn start_calls(world: &mut World, deed: u8) -> Result<Resumable<u32, u32, (), World>, String> {
    let started = catch_unwind(AssertUnwindSafe(|| Resumable::start(world, calls, (deed,)).0));
    started.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// A frame could be polled, or dropped, after the context that it was shown when it was made was taken back.
#[test]
fn a_frame_that_is_made_is_shown_no_context() {
    let mut world = World::new();
    let error = start_calls(&mut world, 0).unwrap_err();
    assert!(error.contains("only while a body"), "{error}");
    assert!(world.is_empty());
}

#[test]
fn a_frame_that_panics_is_dropped_while_the_context_it_holds_is_lent() {
    let mut world = World::new();
    assert_eq!(start_calls(&mut world, 1).unwrap_err(), "with the context in hand");
    assert_eq!(world, ["dropped".repeat(10)]);
}

#[test]
fn a_frame_that_waits_for_something_else_is_dropped_while_the_context_it_holds_is_lent() {
    let mut world = World::new();
    let error = start_calls(&mut world, 2).unwrap_err();
    assert!(error.contains("has awaited something"), "{error}");
    assert_eq!(world, ["dropped".repeat(10)]);
}

#[test]
fn a_destructor_of_a_frame_makes_no_frames_and_sees_no_context() {
    let (mut world, counts) = (World::new(), Arc::new(AtomicUsize::new(0)));
    let entry = |_: &mut Co<u32, u32, World>, deed: Deed, counts: Counts| {
        Call::<Holds>::new((deed, counts))
    };
    let args = (Deed::CallInDrop, Counts(counts.clone()));
    let (co, state) = Resumable::start(&mut world, entry, args);
    assert_eq!(state, State::Suspended(1));
    drop(co);
    assert_eq!(counts.load(Relaxed), 2, "the call of the destructor was dropped, too");
    assert!(world.is_empty());
    // One that is still in the core, and was never polled.
    let co = start_calls(&mut world, 3).unwrap();
    drop(co);
    assert!(world.is_empty());
}

/// A body that is not generated need not do what it is told when it is stored.
#[resumable]
async fn contrary(co: &mut Co<u32, u32>, ends: bool) -> u32 {
    let suspend = co.suspend(1);
    let _ = co.hold(suspend);
    let mut polls = 0;
    wait!(poll_fn(|_| {
        polls += 1;
        if ends && polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    }));
    7
}

#[test]
fn a_frame_that_does_not_wait_while_it_is_stored_poisons_its_coroutine() {
    for ends in [false, true] {
        let (mut co, state) = Resumable::start(&mut (), contrary, (ends,));
        assert_eq!(state, State::Suspended(1));
        assert!(co.snapshot(Format::Postcard).is_err());
        assert!(co.is_poisoned());
        assert!(co.try_resume(&mut (), 1).is_err());
    }
}

#[resumable]
async fn captures(co: &mut Co<u32, u32>, number: u32) -> u32 {
    static FUNCTION: Function = Function::new("captures", false, &[]);
    let _ = co.capture(&FUNCTION, number);
    number
}

#[test]
fn a_capture_at_another_time_is_a_panic() {
    for number in [0, 1, u32::MAX] {
        let start = || Resumable::<u32, u32, u32>::start(&mut (), captures, (number,));
        assert!(catch_unwind(AssertUnwindSafe(start)).is_err());
    }
}

/// A body that does all that generated ones do, each time on another thread.
struct Elsewhere;

static ELSEWHERE: Function = Function::new("elsewhere", false, &PLACES);
static PLACES: [Place; 1] = [Place::new("here", 1, &[(0, "number")])];

impl Routine for Elsewhere {
    type Yield = u32;
    type Input = u32;
    type Context = World;
    type Args = ();
    type Output = u32;

    fn body<'f>(
        mut seed: Seed<'f, u32, u32, World>,
        _: Args<Elsewhere>,
    ) -> impl Future<Output = u32> + Send + 'f {
        async move {
            let (co, mut number, mut slot) = (seed.handle(), 7_u32, None);
            let mut go_on = move || {
                let slot = slot.get_or_insert_with(|| {
                    let mut rewind = co.enter(&ELSEWHERE).unwrap();
                    if rewind.within(1, 1) {
                        let take = co.rewound(&mut rewind, |frame| {
                            let number = frame.take(0)?;
                            frame.arrive().map(|()| number)
                        });
                        number = take.unwrap();
                        return co.held::<Suspend<u32, u32>>();
                    }
                    co.ctx().push("elsewhere".into());
                    let suspend = co.suspend(number);
                    co.hold(suspend)
                });
                let mut cx = Context::from_waker(Waker::noop());
                let polled = Pin::new(&mut co.step(slot)).poll(&mut cx);
                polled.map(|step| match step {
                    Step::Done(input) => Some(number + input),
                    Step::Capture => {
                        let mut capture = co.capture(&ELSEWHERE, 1);
                        capture.put("number", &number);
                        capture.end();
                        None
                    }
                })
            };
            wait!(poll_fn(move |_| {
                let polled = thread::scope(|scope| scope.spawn(&mut go_on).join().unwrap());
                if let Poll::Ready(Some(sum)) = polled { Poll::Ready(sum) } else { Poll::Pending }
            }))
        }
    }
}

#[test]
fn a_handle_works_on_another_thread_while_its_frame_is_polled() {
    let mut world = World::new();
    let entry = |_: &mut Co<u32, u32, World>| Call::<Elsewhere>::new(());
    let (mut co, state) = Resumable::start(&mut world, entry, ());
    assert_eq!(state, State::Suspended(7));
    assert_eq!(world, ["elsewhere"]);
    let image = co.snapshot(Format::Postcard).unwrap();
    assert_eq!(co.resume(&mut world, 5), State::Complete(12));
    let mut co = Resumable::restore(entry, &image, &Options::new()).unwrap();
    assert_eq!(co.resume(&mut world, 6), State::Complete(13));
}
