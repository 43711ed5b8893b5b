//! Coroutines that end with nobody to tell: what they, a hook or an observer raises then ends nobody else.

use std::panic::panic_any;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, atomic::AtomicUsize, atomic::Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use leno_flexible::policy::Pending;
use leno_flexible::{AsyncMe, Flexible, Me, Rule, State, System, SystemBuilder, Threadless, What};

use super::support::in_time;

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("a destructor panics");
        }
    }
}

/// Lets a coroutine run and end on the calling thread, which calls another one of the system and is answered.
fn runs_on<R: Send + 'static>(system: &Threadless, kicked: Flexible<(), R>, keeps: bool) {
    let kept = keeps.then(|| kicked.clone());
    let driver = system.create("driver", |mut me: AsyncMe<(), u32>| async move {
        kicked.kick().unwrap();
        drop(kicked);
        me.yield_now().await;
        me.detach(1).await;
        me.detach(2).await;
    });
    assert_eq!(driver.call(()).unwrap(), 1);
    assert_eq!(driver.call(()).unwrap(), 2, "the system goes on");
    assert!(kept.is_none_or(|kept| kept.state() == State::Terminated));
}

fn count() -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (count.clone(), count)
}

#[test]
fn a_payload_that_panics_when_a_hook_drops_it_does_not_end_a_threadless_system() {
    in_time(|| {
        let (count, own) = count();
        let hook = move |_| {
            let _ = own.fetch_add(1, SeqCst);
        };
        let system = Threadless::builder().on_failure(hook).threadless();
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic_any(Bomb) });
        runs_on(&system, fails, false);
        assert_eq!(count.load(SeqCst), 1);
    });
}

#[test]
fn a_hook_that_panics_does_not_end_a_threadless_system() {
    in_time(|| {
        let system = Threadless::builder().on_failure(|_| panic_any(Bomb)).threadless();
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("a body panics") });
        runs_on(&system, fails, true);
    });
}

#[test]
fn a_hook_that_calls_its_system_does_not_end_it() {
    in_time(|| {
        let place: Arc<Mutex<Option<Flexible<(), ()>>>> = Arc::default();
        let own = place.clone();
        let hook = move |_| {
            let logger = own.lock().unwrap().take().expect("it is called once");
            let _ = logger.call(());
        };
        let system = Threadless::builder().on_failure(hook).threadless();
        *place.lock().unwrap() = Some(system.create("logs", |_: AsyncMe<(), ()>| async {}));
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("a body panics") });
        runs_on(&system, fails, false);
        assert!(place.lock().unwrap().is_none(), "the hook was called");
    });
}
/// What the failure hook of the process was told.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn listen() {
    leno_kernel::layer::user::on_failure(|caught| TOLD.lock().unwrap().push(caught.to_string()));
}

fn told() -> Vec<String> {
    TOLD.lock().unwrap().clone()
}

/// An observer that panics when a coroutine ends alone, and how often it was told so.
fn observed() -> (SystemBuilder, Arc<AtomicUsize>) {
    let (count, own) = count();
    let builder = System::builder().observer(move |event| {
        if matches!(event.what, What::Applied(Rule::EndAlone)) {
            own.fetch_add(1, SeqCst);
            panic!("an observer panics");
        }
    });
    (builder, count)
}

#[test]
fn an_observer_that_panics_when_a_coroutine_ends_does_not_end_a_threadless_system() {
    for keeps in [false, true] {
        listen();
        in_time(move || {
            let (builder, count) = observed();
            let system = builder.threadless();
            let ends = system.create("ends", |_: AsyncMe<(), ()>| async {});
            runs_on(&system, ends, keeps);
            assert_eq!(count.load(SeqCst), 1);
            assert!(system.failures().is_empty(), "its body has not panicked");
            assert!(
                told().contains(&"an observer or a policy panicked: an observer panics".into())
            );
        });
    }
}

#[test]
fn a_last_answer_that_nobody_gets_and_that_panics_does_not_end_a_threadless_system() {
    for keeps in [false, true] {
        in_time(move || {
            let system = Threadless::new();
            let answers = system.create("answers", |mut me: AsyncMe<(), Bomb>| async move {
                me.answer(Bomb);
            });
            runs_on(&system, answers, keeps);
            assert!(system.failures().is_empty(), "its body has not panicked");
        });
    }
}

/// On a home core it is not the coroutine's failure either; and what the body has raised is not lost for it.
#[test]
fn an_observer_that_panics_when_a_coroutine_ends_is_not_the_coroutines_failure() {
    in_time(|| {
        for panics in [false, true] {
            let (builder, count) = observed();
            let system = builder.build();
            let ends = system.create("ends", move |me: &mut Me<(), Bomb>| {
                me.answer(Bomb);
                assert!(!panics, "a body panics");
            });
            ends.kick().unwrap();
            while count.load(SeqCst) == 0 {
                thread::yield_now();
            }
            let adds = system.create("adds", |me: &mut Me<u32, u32>| {
                let n = me.parameter().unwrap_or(0);
                me.answer(n + 1);
            });
            assert_eq!(adds.call(1).unwrap(), 2);
            let failures = format!("{:?}", system.failures());
            let expected = if panics { "[Failure('ends' panicked: a body panics)]" } else { "[]" };
            assert_eq!(failures, expected);
        }
    });
}

/// In a process of its own: a second panic while the first unwinds ends it.
#[test]
fn a_system_whose_policies_panic_when_they_are_dropped_ends_nobody() {
    const NAME: &str = concat!(
        module_path!(),
        "::a_system_whose_policies_panic_when_they_are_dropped_ends_nobody"
    );
    const CHILD: &str = "LENO_FLEXIBLE_POLICIES";
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let (_crate, name) = NAME.split_once("::").unwrap();
        let output = child.args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "no test has run");
        return;
    }
    let serve = || {
        let bomb = Bomb;
        move |_: &[Pending]| {
            let _ = &bomb;
            0
        }
    };
    let bomb = Bomb;
    let builder = System::builder().on_failure(move |_| {
        let _ = &bomb;
    });
    let system = builder.threadless();
    let made = ["a", "b"].map(|name| {
        let builder = system.coroutine(name).serve(serve());
        builder.create(|mut me: AsyncMe<(), ()>| async move { me.detach(()).await })
    });
    made.iter().for_each(|own| own.call(()).unwrap());
    drop(system);
    drop(made);
    let next = Threadless::new().create("next", |_: AsyncMe<(), ()>| async {});
    assert!(next.call(()).is_err(), "its system is gone");
}

/// It may hold a handle of its own system.
#[test]
fn the_observer_of_a_system_that_has_stopped_is_dropped() {
    struct Last(mpsc::Sender<()>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    in_time(|| {
        let (tell, dropped) = mpsc::channel();
        let last = Last(tell);
        let place: Arc<Mutex<Option<Flexible<(), ()>>>> = Arc::default();
        let own = place.clone();
        let builder = System::builder().observer(move |_| {
            let _ = (&last, &own);
        });
        let system = builder.threadless();
        *place.lock().unwrap() = Some(system.create("held", |_: AsyncMe<(), ()>| async {}));
        drop(system);
        dropped.recv().unwrap();
    });
}

/// Its coroutine is made to exit while the observer waits: that is no fault of the observer.
#[test]
fn an_observer_that_exits_with_its_caller_is_told_of_what_comes_later() {
    in_time(|| {
        let (enter, entered) = mpsc::channel();
        let (tell, seen) = mpsc::channel();
        let mut waits = true;
        let system = System::builder()
            .observer(move |event| {
                tell.send(event.to_string()).unwrap();
                if event.on.as_deref() == Some("first") && core::mem::take(&mut waits) {
                    enter.send(leno_kernel::layer::current_stack()).unwrap();
                    leno_kernel::sleep(Duration::from_secs(3600));
                }
            })
            .build();
        let system = Arc::new(system);
        let home = leno_kernel::System::builder().cores(1).build().unwrap();
        let own = system.clone();
        drop(home.spawn(move || drop(own.create("first", |_: &mut Me<(), ()>| {}))));
        let caller = entered.recv().unwrap().expect("a coroutine tells it");
        leno_kernel::cancel(caller);
        drop(home);
        while seen.try_recv().is_ok() {}
        let second = system.create("second", |_: &mut Me<(), ()>| {});
        drop(second);
        assert!(seen.recv().unwrap().contains("second"));
    });
}
