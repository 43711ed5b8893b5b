//! A client that gives up between two steps of its desk.

use core::cell::RefCell;

use super::super::object::Request;
use super::*;

thread_local!(static BETWEEN: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) });

/// Runs what a test does after a desk has looked at its client and before it claims the object.
pub(super) fn between() {
    let f = BETWEEN.take();
    f.into_iter().for_each(|f| f());
}

type Asked = Arc<Claim<Asking<()>, Result<u32, Failure>>>;

/// A monitor with two methods, of which the scheduler chooses the second first, and its desks.
fn monitor(
    picks: impl FnMut(&u32, &[Request]) -> Option<usize> + Send + 'static,
) -> Arc<Core<u32>> {
    let core = Arc::new(Core::new("monitor".into(), 0, Box::new(picks)));
    assert_eq!((core.add("a".into()), core.add("b".into())), (0, 1));
    core
}

fn ask(core: &Core<u32>) -> (u64, Asked) {
    let number = core.number();
    (number, Arc::new(Claim::new(Asking { argument: (), number })))
}

fn look(core: &Core<u32>, desk: usize, claim: &Asked) -> Outcome {
    run(core, desk, &"desk".into(), claim, &mut |object: &mut u32, ()| {
        *object += 1;
        *object
    })
}

/// Has the client of the next look give up between.
fn give_up(core: &Arc<Core<u32>>, (number, claim): (u64, Asked)) {
    let core = core.clone();
    BETWEEN.set(Some(Box::new(move || {
        drop(claim.close());
        core.withdraw(0, number);
    })));
}

#[test]
fn a_client_that_gives_up_while_its_desk_looks_leaves_no_request() {
    // `a` only when the object is odd, and then before `b`.
    let core = monitor(|object, waiting| {
        let place = |name: &str| waiting.iter().position(|own| own.method() == name);
        if object % 2 == 1 { place("a").or_else(|| place("b")) } else { place("b") }
    });
    let gone = ask(&core);
    give_up(&core, gone.clone());
    assert_eq!(look(&core, 0, &gone.1), Outcome::Over);
    for _ in 0..3 {
        let (_, claim) = ask(&core);
        assert_eq!(look(&core, 1, &claim), Outcome::Over, "somebody who is gone was chosen");
        assert!(matches!(claim.close(), crate::synchroniser::claim::Found::Granted(Ok(_))));
    }
}

/// It was the last one who could call.
#[test]
fn a_client_that_gives_up_with_its_monitor_while_its_desk_looks_ends_nobody() {
    let core = monitor(|_, _| Some(0));
    let (gone, lifeline) = (ask(&core), Lifeline::new(core.clone()));
    let (own, (number, claim)) = (core.clone(), gone.clone());
    BETWEEN.set(Some(Box::new(move || {
        drop(claim.close());
        own.withdraw(0, number);
        drop(lifeline);
    })));
    assert_eq!(look(&core, 0, &gone.1), Outcome::Over);
    assert!(core.is_over());
}
