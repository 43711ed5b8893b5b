//! The checks of debug builds find what they are there for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use leno_kernel::bell::Bell;

use super::*;
use crate::flavour::Local;

fn waiter() -> Waiter {
    Waiter::Thread(Arc::new(Bell::new()))
}

/// What the check says.
#[track_caller]
fn found(exchange: &Exchange<'_, u32, Local>) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| exchange.check_all())).expect_err("nothing found");
    panic.downcast_ref::<String>().expect("it says what").clone()
}

#[test]
fn k4_both_hungry_and_blocked_ones_are_found() {
    let lines = Lines::<_, Local>::new(State::new(0, Object::local()));
    let mut exchange = Exchange::lock(&lines);
    let hungry = exchange.stand(Side::Hungry, waiter(), None, None);
    exchange.check_all();
    let blocked = exchange.stand(Side::Blocked, waiter(), Some(1), None);
    assert!(found(&exchange).starts_with("someone is hungry at channel #"));
    drop(exchange);
    drop((hungry, blocked));
}

#[test]
fn someone_blocked_where_there_is_room_is_found() {
    let lines = Lines::<_, Local>::new(State::new(1, Object::local()));
    let mut exchange = Exchange::lock(&lines);
    let blocked = exchange.stand(Side::Blocked, waiter(), Some(1), None);
    assert!(found(&exchange).starts_with("someone is blocked at channel #"));
    drop(exchange);
    drop(blocked);
}

#[test]
fn one_that_parks_twice_at_a_channel_is_found() {
    let lines = Lines::<u32, Local>::new(State::new(0, Object::local()));
    let bell = waiter();
    let again = || {
        let exchange = Exchange::lock(&lines);
        exchange.check_parks(&waiter());
        let parked = catch_unwind(AssertUnwindSafe(|| exchange.check_parks(&bell)));
        assert_eq!(parked.is_err(), cfg!(debug_assertions));
        Next::Leave
    };
    let exchange = Exchange::lock(&lines);
    let end = |_, stage, _: &mut _| assert_eq!(stage, Stage::Waiting);
    exchange.wait(bell.clone(), None, || First::Wait, again, end);
}
