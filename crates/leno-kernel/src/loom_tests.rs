//! Every interleaving of the protocols in which threads meet. `leno_planted` takes a fence out of two
//! of them, and then these must fail.

use loom::sync::Arc;
use loom::thread;

use crate::bell::Bell;
use crate::core::About;
use crate::join::Packet;
use crate::mailbox::{Mailbox, Message};
use crate::policy::Hint;
use crate::system::{Left, SendBody, Team, Work};
use crate::{Co, Name, Time};

#[test]
fn loom_a_ring_is_never_lost() {
    loom::model(|| {
        let bell = Arc::new(Bell::new());
        let other = bell.clone();
        let ringer = thread::spawn(move || other.ring());
        bell.wait();
        ringer.join().unwrap();
        assert!(!bell.is_rung());
    });
}

#[test]
fn loom_two_rings_are_one_or_two() {
    // With three threads, all interleavings of up to three preemptions.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let bell = Arc::new(Bell::new());
        let ringers = [bell.clone(), bell.clone()].map(|bell| thread::spawn(move || bell.ring()));
        bell.wait();
        ringers.into_iter().for_each(|ringer| ringer.join().unwrap());
    });
}

#[test]
fn loom_a_message_wakes_a_core_that_goes_to_sleep() {
    loom::model(|| {
        let mailbox: &Mailbox = Box::leak(Box::new(Mailbox::new(0)));
        mailbox.set_open();
        let sender = thread::spawn(|| mailbox.send(Message::Unpark(Co::new(0, 0, 1))));
        let mut messages = Vec::new();
        while messages.is_empty() {
            mailbox.bell.wait();
            mailbox.receive(&mut messages);
        }
        sender.join().unwrap();
        assert_eq!((messages.len(), mailbox.sent()), (1, 1));
    });
}

fn work() -> Work {
    let about = About {
        name: Name::NONE,
        site: core::panic::Location::caller(),
        stack_size: 0,
        priority: 0,
        deadline: None,
        born: Time::START,
    };
    let adoption = Packet::<()>::new();
    Work { about, hint: Hint::Back, body: SendBody::Closure(Box::new(|| ())), adoption }
}

fn team(cores: u32) -> &'static Team {
    let mailbox = |number| &*Box::leak(Box::new(Mailbox::new(number)));
    Box::leak(Box::new(Team::new((0..cores).map(mailbox))))
}

#[test]
fn loom_nobody_sleeps_while_there_is_work() {
    loom::model(|| {
        let team = team(1);
        let adder = thread::spawn(|| team.add(None, work()));
        let mut taken = 0;
        while taken == 0 {
            team.take(0, 1, |_| taken += 1);
            if taken == 0 {
                team.rest(0, Left::default, || team.places()[0].mailbox.bell.wait());
            }
        }
        adder.join().unwrap();
    });
}
