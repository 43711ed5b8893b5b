use leno_kernel::log::{self, Operation, What};
use leno_kernel::{LocalSystem, Object, Options, Reason, park, spawn_local, unpark, yield_now};

use super::*;

/// What each row did, in order.
fn deeds(story: &Story, name: &str) -> Vec<Doing> {
    let row = story.rows.iter().position(|row| row.name == name).unwrap();
    story.spans.iter().filter(|span| span.row == row).map(|span| span.doing).collect()
}

fn system(events: usize) -> LocalSystem {
    LocalSystem::builder().virtual_time().log(events).build()
}

fn spawn(system: &LocalSystem, name: &'static str, f: impl FnOnce() + 'static) -> Co {
    system.spawn_with(&Options::new().name(name), f).unwrap().co().unwrap()
}

#[test]
fn a_life_is_told_without_gaps() {
    let system = system(100);
    let sleeper = spawn(&system, "sleeper", || {
        park(Reason::Passive);
    });
    spawn(&system, "waker", move || {
        yield_now();
        unpark(sleeper);
        drop(spawn_local(|| ()).join());
    });
    system.run().unwrap();
    let story = Story::new(&system.log(), &Names::new());
    use Doing::{Joins, New, Ready, Runs, Waits};
    assert_eq!(deeds(&story, "sleeper"), [New, Ready, Runs, Waits, Ready, Runs]);
    assert_eq!(deeds(&story, "waker"), [New, Ready, Runs, Ready, Runs, Joins, Ready, Runs]);
    assert_eq!(deeds(&story, "coroutine 3"), [New, Ready, Runs]);
    for row in 0..story.rows.len() {
        let spans: Vec<&Span> = story.spans.iter().filter(|span| span.row == row).collect();
        assert!(spans.windows(2).all(|two| two[0].to == Some(two[1].from)), "{spans:?}");
        assert!(story.rows[row].site.as_ref().unwrap().contains("tests.rs"));
    }
    let arrows: Vec<_> = story.arrows.iter().map(|a| (a.carries, a.from.0, a.to.0)).collect();
    let (wake, spawn) = (Carries::WakeUp, Carries::Spawn);
    assert_eq!(arrows, [(wake, 1, 0), (spawn, 1, 2), (wake, 2, 1)]);
}

/// Sends and receives as channels write them.
fn does(operation: Operation, object: Object) {
    log::add(|| What::Does(operation, object));
}

fn values(sends: u32, receives: u32, events: usize) -> Vec<((usize, usize), (usize, usize))> {
    let (system, object) = (system(events), Object::local());
    spawn(&system, "from", move || (0..sends).for_each(|_| does(Operation::Send, object)));
    spawn(&system, "to", move || (0..receives).for_each(|_| does(Operation::Receive, object)));
    system.run().unwrap();
    let story = Story::new(&system.log(), &Names::new().object(object, "pipe"));
    let values = story.arrows.iter().filter(|arrow| arrow.carries == Carries::Value);
    values.inspect(|a| assert_eq!(a.text, "a value through pipe")).map(|a| (a.from, a.to)).collect()
}

#[test]
fn the_nth_send_goes_to_the_nth_receive() {
    // Two spawned and woken, one runs: its first send is the sixth event, and then it ends.
    let all = values(3, 2, 100);
    assert_eq!(all, [((0, 5), (1, 10)), ((0, 6), (1, 11))]);
}

#[test]
fn no_value_is_drawn_rather_than_a_wrong_one() {
    assert_eq!(values(2, 3, 100), [], "someone outside sends");
    assert_eq!(values(3, 3, 8), [], "the log has lost some");
}

#[test]
fn who_is_first_heard_of_in_the_middle_has_a_past() {
    let system = system(6);
    let sleeper = spawn(&system, "sleeper", || {
        park(Reason::Passive);
        // Of those that are alive the log keeps the names.
        park(Reason::Passive);
    });
    spawn(&system, "waker", move || {
        (0..10).for_each(|_| yield_now());
        log::mark("now");
        unpark(sleeper);
    });
    system.run().unwrap_err();
    let log = system.log();
    let story = Story::new(&log, &Names::new());
    assert!(story.lost > 0);
    assert_eq!(
        deeds(&story, "sleeper"),
        [Doing::Waits, Doing::Ready, Doing::Runs, Doing::Waits],
        "{log}"
    );
}

#[test]
fn an_empty_log_is_an_empty_story() {
    let story = Story::new(&Log::default(), &Names::new());
    assert!(story.rows.is_empty() && story.spans.is_empty() && story.arrows.is_empty());
}
