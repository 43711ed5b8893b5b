//! What a body has, used where it is not its own: before its coroutine is made, and after that has ended. And code that runs
//! after the end of a coroutine, which is not its doing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};

use leno_flexible::{AsyncMe, Flexible, Threadless, spinning_async};

use super::support::{in_time, text};

/// A coroutine that tells of each of its turns.
fn telling(system: &Threadless) -> (Flexible<(), ()>, mpsc::Receiver<()>) {
    let (tell, told) = mpsc::channel();
    let own = system.create("tells", move |mut me: AsyncMe<(), ()>| async move {
        loop {
            tell.send(()).unwrap();
            me.passivate().await;
        }
    });
    (own, told)
}

/// Polls a detach once; what the panic says.
fn detach<R: Send + 'static>(me: &mut AsyncMe<(), R>, answer: R) -> String {
    let polled = catch_unwind(AssertUnwindSafe(|| {
        let detach = pin!(me.detach(answer));
        let _ = detach.poll(&mut Context::from_waker(Waker::noop()));
    }));
    text(polled.expect_err("it is refused"))
}

const NOT_ITS_OWN: &str =
    "the operations of coroutine 'one' are for its own body, and another one uses them";

#[test]
fn a_failure_hook_may_kick_and_create_coroutines_of_its_system() {
    in_time(|| {
        type Place = Arc<Mutex<Option<(Flexible<(), ()>, Threadless)>>>;
        let place = Place::default();
        let (own, (tell, told)) = (place.clone(), mpsc::channel());
        let system = Threadless::builder()
            .on_failure(move |_| {
                let (other, system) = own.lock().unwrap().take().expect("it fails once");
                let made = system.create("made", |_: AsyncMe<(), ()>| async {});
                tell.send((other.kick(), made.prod(), system)).unwrap();
            })
            .threadless();
        let (other, turns) = telling(&system);
        let (go, wait) = mpsc::channel::<()>();
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async move {
            wait.recv().unwrap();
            panic!("a body fails");
        });
        *place.lock().unwrap() = Some((other, system));
        fails.kick().unwrap();
        // Nobody names it when it fails.
        drop(fails);
        go.send(()).unwrap();
        let (kicked, prodded, _system) = told.recv().expect("the hook comes to its end");
        assert_eq!((kicked, prodded), (Ok(()), Ok(())));
        turns.recv().unwrap();
    });
}

#[test]
fn an_answer_that_nobody_gets_may_kick_when_it_is_dropped() {
    struct Kicks(Flexible<(), ()>);
    impl Drop for Kicks {
        fn drop(&mut self) {
            self.0.kick().unwrap();
        }
    }
    in_time(|| {
        let system = Threadless::new();
        let (other, turns) = telling(&system);
        let (go, wait) = mpsc::channel::<()>();
        let answer = Kicks(other);
        let answers = system.create("answers", |mut me: AsyncMe<(), Kicks>| async move {
            wait.recv().unwrap();
            me.answer(answer);
        });
        answers.kick().unwrap();
        drop(answers);
        go.send(()).unwrap();
        turns.recv().unwrap();
    });
}

#[test]
fn what_a_body_has_is_refused_by_name_while_its_last_answer_is_dropped() {
    type Kept = Arc<Mutex<Option<AsyncMe<(), Detaches>>>>;
    struct Detaches(Option<(Kept, mpsc::Sender<String>)>);
    impl Drop for Detaches {
        fn drop(&mut self) {
            let Some((kept, tell)) = self.0.take() else { return };
            let mut kept = kept.lock().unwrap().take().expect("it was kept");
            tell.send(detach(&mut kept, Detaches(None))).unwrap();
        }
    }
    in_time(|| {
        let (system, (tell, told)) = (Threadless::new(), mpsc::channel());
        let (go, wait) = mpsc::channel::<()>();
        let own = system.create("one", |mut me: AsyncMe<(), Detaches>| async move {
            wait.recv().unwrap();
            let kept = Kept::default();
            me.answer(Detaches(Some((kept.clone(), tell))));
            *kept.lock().unwrap() = Some(me);
        });
        own.kick().unwrap();
        drop(own);
        go.send(()).unwrap();
        assert_eq!(told.recv().unwrap(), NOT_ITS_OWN.replace("'one'", "'(ended)'"));
        assert!(system.failures().is_empty());
        system.create("one", |_: AsyncMe<(), ()>| async {}).call(()).unwrap();
    });
}

#[test]
fn what_a_body_has_may_be_asked_before_its_coroutine_is_made() {
    in_time(|| {
        let system = Arc::new(Threadless::new());
        let ask = |mut me: AsyncMe<(), ()>| {
            assert_eq!((&*me.name(), me.caller(), me.parameter()), ("one", None, None));
            assert_eq!(format!("{me:?}"), "AsyncMe(one)");
            assert_eq!(detach(&mut me, ()), NOT_ITS_OWN);
            async {}
        };
        system.create("one", ask).call(()).unwrap();
        // Where another one of the system has its turn.
        let makes =
            system.create("makes", move |mut me: AsyncMe<(), Flexible<(), ()>>| async move {
                let made = me.create("one", ask);
                me.answer(made);
            });
        makes.call(()).unwrap().call(()).unwrap();
        assert!(system.failures().is_empty());
    });
}

/// Somebody watches: so each time it begins again is told, by name.
#[test]
fn a_spinning_body_that_another_one_polls_is_refused_by_name() {
    type Kept = Arc<Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>>;
    in_time(|| {
        let (system, kept) = (Threadless::builder().observer(|_| {}).threadless(), Kept::default());
        let own = system.create("one", |me: AsyncMe<(), ()>| {
            *kept.lock().unwrap() = Some(spinning_async(|_| async {})(me));
            async {}
        });
        own.call(()).unwrap();
        drop(own);
        let mut body = kept.lock().unwrap().take().expect("it was kept");
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let _ = body.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }));
        assert_eq!(text(polled.unwrap_err()), NOT_ITS_OWN.replace("'one'", "'(ended)'"));
    });
}
