//! The checks of debug builds find what they are there for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use leno_kernel::layer::bell::Bell;

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
