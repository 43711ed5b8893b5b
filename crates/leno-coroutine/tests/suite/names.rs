//! Every handle says what its coroutine is called, alive or not, here or on another thread.

use leno_coroutine::ring::{self, RingError};
use leno_coroutine::{Builder, State, Suspender, list};

fn named(name: &'static str) -> Builder {
    Builder::new().name(name)
}

#[test]
fn body_and_handle_see_the_name_and_the_id() {
    let body = |co: &Suspender<(), ()>, ()| (co.name().map(str::to_owned), co.id());
    let given = named("given").coroutine(body).unwrap();
    assert_eq!(given.resume(()).finished(), Some((Some("given".to_owned()), given.id())));
    let none = Builder::new().coroutine(body).unwrap();
    assert_eq!(none.resume(()).finished(), Some((None, none.id())));
    assert_eq!((given.name(), none.name()), (Some("given"), None));
}

#[test]
fn listed_coroutine_has_its_name() {
    let _co = named(" 'quoted' ").coroutine(|_: &Suspender<(), ()>, ()| ()).unwrap();
    assert_eq!(list::coroutines()[0].name(), Some(" 'quoted' "));
}

#[test]
fn finished_member_keeps_its_name() {
    // A name of its own, not in the program's text.
    let member = Builder::new().name(String::from("done")).spawn(|| ()).unwrap();
    ring::yield_now();
    assert_eq!((member.name(), member.state()), (Some("done"), State::Finished));
    assert_eq!(member.to_string(), "'done'");
    assert_eq!(
        ring::yield_to(&member),
        Err(RingError::Finished { member: "'done'".to_owned() }),
        "and messages show it"
    );
    assert_eq!(format!("{member:?}"), "Member('done'[finished])");
}

#[test]
fn member_of_another_thread_keeps_its_name() {
    let member = named("theirs").spawn(|| ()).unwrap();
    let seen = member.clone();
    let error = std::thread::spawn(move || ring::yield_to(&seen)).join().unwrap();
    assert_eq!(error, Err(RingError::OtherThread { member: "'theirs'".to_owned() }));
    let unnamed = ring::spawn(|| ());
    assert_eq!((unnamed.name(), unnamed.to_string()), (None, format!("#{}", unnamed.id())));
    ring::drain().unwrap();
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn migrants_have_names_ids_and_states() {
    // SAFETY: they keep nothing across their suspensions.
    let co = unsafe { named("wanderer").migratable(|co: &Suspender<(), ()>, ()| co.suspend(())) };
    let co = co.unwrap();
    assert_eq!((co.name(), co.state(), co.id()), (Some("wanderer"), State::New, co.status().id()));
    let state = std::thread::scope(|s| s.spawn(|| co.state()).join().unwrap());
    assert_eq!(state, State::New);
    // SAFETY: as above.
    let member = unsafe { named("nomad").spawn_migratable(ring::yield_now) }.unwrap();
    ring::yield_now();
    assert_eq!((member.name(), member.state()), (Some("nomad"), State::Suspended));
    assert_eq!((member.member().name(), member.member().id()), (Some("nomad"), member.id()));
    ring::yield_now();
    assert_eq!((member.name(), member.state()), (Some("nomad"), State::Finished));
}

#[test]
#[cfg(not(leno_baton))]
fn shared_coroutine_has_its_name() {
    let stacks = leno_coroutine::shared::Stacks::new(1);
    let body = |_: &Suspender<(), ()>, ()| ();
    // SAFETY: nothing refers to its locals.
    let co = unsafe { stacks.coroutine_with(named("small"), body) }.unwrap();
    assert_eq!(co.name(), Some("small"));
}
