//! Bad use: each a clear error that names both parties, and the system goes on, with a home core and
//! without.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_flexible::{
    AsyncMe, CallError, Flexible, Me, State, System, Threadless, spinning, spinning_async,
};

/// One that still answers.
fn goes_on(system: &System) {
    let alive = system.create("alive", |me: &mut Me<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        me.answer(n + 1);
    });
    assert_eq!(alive.call(1).unwrap(), 2);
}

fn goes_on_without(system: &Threadless) {
    let alive = system.create("alive", |mut me: AsyncMe<u32, u32>| async move {
        let n = me.parameter().unwrap_or(0);
        me.answer(n + 1);
    });
    assert_eq!(alive.call(1).unwrap(), 2);
}

/// As a thread of this name.
fn as_thread<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().name(name.into()).spawn(f).unwrap().join().unwrap()
}

#[test]
fn f19_a_self_call_and_a_cycle_without_a_home_core() {
    type Slot = Arc<Mutex<Option<Flexible<(), String>>>>;
    let (system, slot) = (Threadless::new(), Slot::default());
    let own = slot.clone();
    let itself = system.create("itself", |mut me: AsyncMe<(), String>| async move {
        let own = own.lock().unwrap().take().unwrap();
        me.answer(own.call_async(()).await.unwrap_err().to_string());
    });
    *slot.lock().unwrap() = Some(itself.clone());
    assert_eq!(itself.call(()).unwrap(), "coroutine 'itself' cannot call or resume itself");
    let own = slot.clone();
    let b = system.create("b", |mut me: AsyncMe<(), String>| async move {
        let a = own.lock().unwrap().take().unwrap();
        me.answer(a.call_async(()).await.unwrap_err().to_string());
    });
    let a = system.create("a", |mut me: AsyncMe<(), String>| async move {
        me.answer(b.call_async(()).await.unwrap());
    });
    *slot.lock().unwrap() = Some(a.clone());
    let text = a.call(()).unwrap();
    assert!(text.starts_with("coroutine 'b' cannot call or resume 'a'"), "{text}");
    goes_on_without(&system);
}

#[test]
fn f72_one_that_has_panicked_and_who_wants_it_are_named() {
    let system = System::new();
    let bad = system.create("bad", |_: &mut Me<(), ()>| panic!("planned"));
    assert!(matches!(bad.call(()), Err(CallError::Failed(_))));
    let texts = as_thread("anna", move || {
        [bad.call(()).unwrap_err().to_string(), bad.kick().unwrap_err().to_string()]
    });
    let expected = "thread 'anna' cannot call or resume coroutine 'bad': it has panicked";
    assert_eq!(texts, [expected; 2]);
    let kicked = system.create("kicked", |_: &mut Me<(), ()>| panic!("{} glyphs", "no"));
    kicked.kick().unwrap();
    while kicked.state() != State::Terminated {
        std::thread::yield_now();
    }
    let failures = system.failures();
    assert_eq!(format!("{failures:?}"), "[Failure('kicked' panicked: no glyphs)]");
    goes_on(&system);
}

#[test]
fn f72_one_that_has_terminated_and_who_wants_it_are_named() {
    let system = System::new();
    let once = system.create("once", |_: &mut Me<(), ()>| {});
    once.call(()).unwrap();
    let own = once.clone();
    let texts = as_thread("anna", move || {
        [own.call(()).unwrap_err().to_string(), own.kick().unwrap_err().to_string()]
    });
    let expected = "thread 'anna' cannot have coroutine 'once', which has terminated";
    assert_eq!(texts, [expected; 2]);
    let asks = system.create("asks", move |me: &mut Me<(), [String; 2]>| {
        let call = once.call(()).unwrap_err().to_string();
        let resume = me.resume(&once).unwrap_err().to_string();
        me.answer([call, resume]);
    });
    let expected = "coroutine 'asks' cannot have coroutine 'once', which has terminated";
    assert_eq!(asks.call(()).unwrap(), [expected; 2]);
    goes_on(&system);
}

#[test]
fn f63_a_resume_into_another_system_names_both() {
    let (one, two) = (System::new(), Threadless::new());
    let m = two.create("m", |mut me: AsyncMe<(), ()>| async move { me.passivate().await });
    let n = one.create("n", move |me: &mut Me<(), String>| {
        let text = me.resume(&m).unwrap_err().to_string();
        me.answer(text);
    });
    let text = n.call(()).unwrap();
    assert!(
        text.starts_with("coroutine 'n' cannot resume 'm', which is of another system"),
        "{text}"
    );
    goes_on(&one);
    goes_on_without(&two);
}

#[test]
fn f60_what_is_its_own_cannot_be_used_by_another_body() {
    let system = Threadless::new();
    // Its own operations, handed to another coroutine by a trick.
    type Slot = Arc<Mutex<Option<AsyncMe<(), String>>>>;
    let slot = Slot::default();
    let own = slot.clone();
    let gives = system.create("gives", |me: AsyncMe<(), String>| async move {
        *own.lock().unwrap() = Some(me);
    });
    assert!(matches!(gives.call(()), Err(CallError::NoAnswer { .. })));
    let thief = system.create("thief", |_: AsyncMe<(), ()>| async move {
        let mut stolen = slot.lock().unwrap().take().unwrap();
        stolen.detach(String::new()).await;
    });
    let text = thief.call(()).unwrap_err().to_string();
    let expected =
        "the operations of coroutine 'gives' are for its own body, and another one uses them";
    assert_eq!(text, format!("coroutine 'thief' has panicked: {expected}"));
    goes_on_without(&system);
}

#[test]
fn f71_a_thread_that_panics_while_it_calls_leaves_a_sound_system() {
    let system = Threadless::new();
    let m = system.create(
        "m",
        spinning_async(|mut me: AsyncMe<(), ()>| async move {
            me.passivate().await;
            me.detach(()).await;
        }),
    );
    // A future that calls is dropped because its thread unwinds.
    let own = m.clone();
    let unwinds = std::thread::spawn(move || {
        let mut call = Box::pin(own.call_async(()));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        panic!("on purpose");
    });
    assert!(unwinds.join().is_err());
    assert_eq!((m.caller(), m.state()), (None, State::Idle));
    goes_on_without(&system);
    let system = System::new();
    let m = system.create(
        "m",
        spinning(|me: &mut Me<(), ()>| {
            me.passivate();
            me.detach(());
        }),
    );
    let gave_up = as_thread("anna", move || m.call_timeout((), Duration::from_millis(5)));
    assert!(gave_up.unwrap_err().to_string().contains("'m'"));
    goes_on(&system);
}

#[test]
fn f73_a_panic_while_attached_and_while_kicked_and_the_system_goes_on() {
    let system = System::new();
    let fails = system.create("fails", |_: &mut Me<(), ()>| panic!("attached"));
    let text = fails.call(()).unwrap_err().to_string();
    assert_eq!(text, "coroutine 'fails' has panicked: attached");
    let kicked = system.create("kicked", |_: &mut Me<(), ()>| panic!("kicked"));
    kicked.kick().unwrap();
    let mut failures = Vec::new();
    while failures.is_empty() {
        failures = system.failures();
    }
    assert_eq!(failures[0].name.as_str(), Some("kicked"));
    goes_on(&system);
}

#[test]
fn a_hook_that_panics_ends_nobody_else() {
    let system = Threadless::builder().on_failure(|_| panic!("the hook")).threadless();
    let kicks = system.create("kicked", |_: AsyncMe<(), ()>| async { panic!("kicked") });
    let own = kicks.clone();
    let calls = system.create("calls", |mut me: AsyncMe<(), ()>| async move {
        own.kick().unwrap();
        me.yield_now().await;
    });
    // The failure hook of the process is told, and whoever steers gets its answer.
    calls.call(()).unwrap();
    let next = system.create("next", |mut me: AsyncMe<(), u32>| async move { me.answer(7) });
    assert_eq!(next.call(()).unwrap(), 7);
}

#[test]
fn a_blocking_call_in_a_future_of_a_core_panics() {
    let system = System::new();
    let m = system.create("m", |_: &mut Me<(), ()>| {});
    let local = leno_kernel::LocalSystem::new();
    let own = m.clone();
    let blocks = local
        .spawn(move || leno_kernel::spawn_local_future(async move { own.call(()).is_ok() }).join());
    local.run().unwrap();
    assert!(blocks.join().unwrap().is_err());
    // Nothing was asked of it.
    m.call(()).unwrap();
    goes_on(&system);
}
