//! What can go wrong with an asymmetric coroutine is an error or a panic that names it, gives the
//! input back and leaves everything else usable.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};

use crate::support::message;
use leno_coroutine::{
    Builder, Coroutine, CreateError, ResumeError, StackError, State, Step, Suspender,
};

fn named<F, In, Out, Ret>(name: &'static str, body: F) -> Coroutine<In, Out, Ret>
where
    F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
    In: 'static,
    Out: 'static,
    Ret: 'static,
{
    Builder::new().name(name).coroutine(body).expect("there is memory")
}

#[test]
fn s12_finished_after_the_end_a_return_and_a_failure() {
    let end = named("end", |_: &Suspender<(), ()>, ()| ());
    let early = named("early", |co: &Suspender<bool, ()>, stop: bool| {
        if stop {
            return;
        }
        co.suspend(());
    });
    let failing = named("failing", |_: &Suspender<(), ()>, ()| panic!("on purpose"));
    assert!(!end.is_finished() && !early.is_finished() && !failing.is_finished());
    end.resume(());
    early.resume(true);
    assert!(catch_unwind(AssertUnwindSafe(|| failing.resume(()))).is_err());
    for state in [end.state(), early.state(), failing.state()] {
        assert_eq!(state, State::Finished);
    }
}

#[test]
fn s19_resumed_by_itself_directly() {
    let coroutine = Rc::new_cyclic(|own: &Weak<Coroutine<u8, ResumeError<u8>>>| {
        let own = own.clone();
        named("ouroboros", move |co: &Suspender<u8, ResumeError<u8>>, _| {
            let own = own.upgrade().expect("it is running");
            co.suspend(own.try_resume(7).expect_err("it is in use"));
        })
    });
    let Step::Suspended(error) = coroutine.resume(0) else { panic!("it suspends") };
    assert!(matches!(&error, ResumeError::InUse { name, input: 7 } if name == "'ouroboros'"));
    assert_eq!(
        error.to_string(),
        "coroutine 'ouroboros' is in use and cannot be resumed: it is running, or waits for a \
         coroutine it has itself resumed"
    );
    assert_eq!(coroutine.resume(0), Step::Finished(()), "the attempt did no harm");
}

#[test]
fn s19_resumed_by_itself_through_two_others() {
    let first = Rc::new_cyclic(|first: &Weak<Coroutine<u8, u8, bool>>| {
        let first = first.clone();
        named("first", move |_: &Suspender<u8, u8>, n| {
            let second = named("second", move |_: &Suspender<u8, u8>, n| {
                let third = named("third", move |_: &Suspender<u8, u8>, n| {
                    first.upgrade().expect("it is running").try_resume(n)
                });
                third.resume(n + 1).finished().expect("it ends")
            });
            let refused = second.resume(n + 1).finished().expect("it ends");
            matches!(refused, Err(ResumeError::InUse { input: 3, .. }))
        })
    });
    assert_eq!(first.resume(1), Step::Finished(true));
}

#[test]
fn s20_finished_one_refuses_and_gives_the_input_back() {
    let once = named("once", |_: &Suspender<String, ()>, _| ());
    once.resume("taken".to_owned());
    let error = once.try_resume("kept".to_owned()).expect_err("it is finished");
    assert_eq!(error.to_string(), "coroutine 'once' is finished and cannot be resumed");
    assert_eq!(error.into_input(), "kept");
    let panic = catch_unwind(AssertUnwindSafe(|| once.resume(String::new())));
    let panic = panic.expect_err("resume panics where try_resume refuses");
    assert_eq!(message(&*panic), "coroutine 'once' is finished and cannot be resumed");
}

#[test]
fn s20_finished_one_refuses_when_another_has_its_stack() {
    let old = Coroutine::new(|_: &Suspender<u8, u8>, n| n);
    old.resume(1);
    // Of the stacks freed by this thread, the last one is used first.
    let reuse =
        |n: u8| named("new", move |co: &Suspender<Box<u8>, Box<u8>>, _| co.suspend(n.into()));
    let new = [reuse(10), reuse(20)];
    assert!(matches!(old.try_resume(2), Err(ResumeError::Finished { input: 2, .. })), "not run");
    assert_eq!(new[0].resume(Box::default()), Step::Suspended(Box::new(10)));
    assert!(matches!(old.try_resume(2), Err(ResumeError::Finished { .. })), "suspended");
    assert!(old.is_finished() && old.backtrace().is_none());
    drop(old);
    assert_eq!(new[1].resume(Box::default()), Step::Suspended(Box::new(20)));
    assert_eq!(new[0].resume(Box::new(11)), Step::Finished(Box::new(11)));
}

#[test]
fn panic_of_a_body_reaches_whoever_resumed_it() {
    let failing = named("failing", |co: &Suspender<(), ()>, ()| {
        co.suspend(());
        std::panic::panic_any(42_u64);
    });
    let around = named("around", move |_: &Suspender<(), ()>, ()| {
        failing.resume(());
        let panic = catch_unwind(AssertUnwindSafe(|| failing.resume(())));
        (panic.expect_err("it fails").downcast_ref::<u64>().copied(), failing.is_finished())
    });
    assert_eq!(around.resume(()), Step::Finished((Some(42), true)), "through one coroutine only");
    let outer = named("outer", |_: &Suspender<(), ()>, ()| {
        let inner = named("inner", |_: &Suspender<(), ()>, ()| panic!("from {}", "within"));
        inner.resume(());
    });
    let panic = catch_unwind(AssertUnwindSafe(|| outer.resume(()))).expect_err("it fails");
    assert_eq!(message(&*panic), "from within", "through both");
    assert!(outer.is_finished());
}

#[test]
fn unnamed_ones_are_shown_by_their_id() {
    let unnamed = Coroutine::new(|_: &Suspender<(), ()>, ()| ());
    let id = unnamed.id();
    assert_eq!(format!("{unnamed:?}"), format!("Coroutine(#{id}[new])"));
    unnamed.resume(());
    let error = unnamed.try_resume(()).expect_err("it is finished");
    assert_eq!(error.to_string(), format!("coroutine #{id} is finished and cannot be resumed"));
    assert_eq!(format!("{unnamed:?}"), format!("Coroutine(#{id}[finished])"));
}

#[test]
fn too_large_a_stack_is_an_error_and_the_body_comes_back() {
    let text = |error: CreateError| error.to_string();
    for asked in [usize::MAX, (1 << 30) + 1] {
        let refused = Builder::new().stack_size(asked).coroutine(|_: &Suspender<(), ()>, ()| ());
        let at = format!("{}:{}:56", file!(), line!() - 1);
        let expected = format!(
            "cannot create a coroutine (at {at}): a stack of {asked} bytes was asked for; the \
             largest has 1073741824"
        );
        assert_eq!(refused.map_err(text).expect_err("too large"), expected);
    }
    let kept = String::from("kept");
    let body = move |_: &Suspender<(), ()>, ()| kept;
    let unstarted = Builder::new().stack_size(usize::MAX).unstarted(body);
    let unstarted = unstarted.start().expect_err("too large").into_unstarted();
    let again = Builder::new().coroutine(unstarted.into_body()).expect("the default fits");
    assert_eq!(again.resume(()), Step::Finished("kept".to_owned()));
}

#[test]
fn refused_coroutine_is_named_and_the_reason_can_be_matched() {
    let body = |_: &Suspender<(), ()>, ()| ();
    let builder = || Builder::new().name("huge").stack_size(usize::MAX);
    let error = builder().coroutine(body).expect_err("too large");
    assert!(error.to_string().starts_with("cannot create coroutine 'huge' (at "), "{error}");
    assert_eq!((error.name(), error.site().unwrap().file()), (Some("huge"), file!()));
    assert_eq!(*error.stack_error(), StackError::TooLarge { asked: usize::MAX });
    let source = error.source().expect("the stack's");
    assert!(matches!(source.downcast_ref(), Some(StackError::TooLarge { asked: usize::MAX })));
    let member = builder().spawn(|| ()).expect_err("too large");
    assert!(member.to_string().starts_with("cannot create coroutine 'huge' (at "), "{member}");
}

#[test]
fn start_error_fits_a_question_mark() {
    fn boxed() -> Result<(), Box<dyn Error>> {
        Builder::new().stack_size(usize::MAX).unstarted(|_: &Suspender<(), ()>, ()| ()).start()?;
        Ok(())
    }
    fn converted() -> Result<(), CreateError> {
        Builder::new().stack_size(usize::MAX).unstarted(|_: &Suspender<(), ()>, ()| ()).start()?;
        Ok(())
    }
    let error = boxed().expect_err("too large");
    let source = error.source().and_then(<dyn Error>::downcast_ref::<CreateError>);
    let (source, converted) = (source.expect("why"), converted().expect_err("too large"));
    assert_eq!(source.stack_error(), converted.stack_error());
    assert_eq!(error.to_string(), source.to_string());
}
