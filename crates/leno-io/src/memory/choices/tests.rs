//! Which answers count, and how often the policy is asked.

use std::collections::VecDeque;
use std::rc::Rc;

use core::cell::Cell;

use leno_kernel::policy::{Choice, Policy, Ready};
use leno_kernel::{Co, LocalSystem, Object};

use super::{Choices, ROUNDS};
use crate::memory::Network;

/// Always takes the last, and counts.
struct Last(VecDeque<Co>, Rc<Cell<u32>>);

impl Policy for Last {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.push_back(ready.co);
    }

    fn pick(&mut self) -> Option<Co> {
        self.0.pop_front()
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.1.set(self.1.get() + 1);
        choice.candidates.len() - 1
    }

    fn forget(&mut self, co: Co) {
        self.0.retain(|other| *other != co);
    }
}

/// Runs it in a coroutine whose system has a policy. How often that was asked.
fn with_policy(body: impl FnOnce() + 'static) -> u32 {
    let asked = Rc::new(Cell::new(0));
    let policy = Last(VecDeque::new(), asked.clone());
    let system = LocalSystem::builder().policy(policy).build();
    let ended = system.spawn(body);
    system.run().unwrap();
    ended.join().unwrap();
    asked.get()
}

#[test]
fn an_answer_counts_for_its_own_question_only() {
    let asked = with_policy(|| {
        let (one, other) = (Object::local(), Object::local());
        let mut choices = Choices::default();
        assert!(choices.pick(one, &[1, 2]).is_err());
        choices.ask();
        assert_eq!(choices.pick(one, &[1, 2]).unwrap(), 1);
        assert!(choices.pick(one, &[1, 2, 3]).is_err());
        choices.ask();
        // Tried again.
        assert_eq!(choices.pick(one, &[1, 2]).unwrap(), 1);
        assert_eq!(choices.pick(one, &[1, 2, 3]).unwrap(), 2);
        // The first question is about something else by now: no answer is left.
        choices.used = 0;
        assert!(choices.pick(other, &[1, 2]).is_err());
        assert!(choices.given.is_empty());
        choices.ask();
        assert_eq!(choices.pick(other, &[1, 2]).unwrap(), 1);
        assert!(choices.pick(one, &[1, 2, 3]).is_err());
    });
    assert_eq!(asked, 3);
}

#[test]
fn what_is_settled_is_not_answered_again() {
    let asked = with_policy(|| {
        let object = Object::local();
        let mut choices = Choices::default();
        assert!(choices.pick(object, &[1, 2]).is_err());
        choices.ask();
        assert_eq!(choices.pick(object, &[1, 2]).unwrap(), 1);
        choices.settle();
        assert!(choices.pick(object, &[1, 2]).is_err());
    });
    assert_eq!(asked, 1);
}

#[test]
fn a_question_that_changes_every_time_is_given_up() {
    let asked = with_policy(|| {
        let (network, object) = (Network::local(), Object::local());
        let mut last = 0;
        let took = network.inner.decide(|state| {
            last += 1;
            state.choices.pick(object, &[0, last])
        });
        assert_eq!(took, 0);
    });
    assert_eq!(asked, ROUNDS);
}

#[test]
fn without_a_policy_and_without_a_choice_nobody_is_asked() {
    let object = Object::local();
    assert_eq!(Choices::default().pick(object, &[1, 2]).unwrap(), 0);
    assert_eq!(
        with_policy(move || assert_eq!(Choices::default().pick(object, &[1]).unwrap(), 0)),
        0
    );
}
