use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use leno_kernel::layer::{Sign, park_on};
use leno_kernel::{JoinHandle, LocalSystem, Options, Wake, current, park, sleep, yield_now};

use super::*;

const NASTY: &str = "</text><script>\"'&\u{1}織";

fn spawn(system: &LocalSystem, name: &'static str, f: impl FnOnce() + 'static) -> JoinHandle<()> {
    system.spawn_with(&Options::new().name(name), f).unwrap()
}

/// Three in a circle, one who waits for one of them, two at a channel, one nobody waits for.
fn stuck() -> (Report, Names) {
    let system = LocalSystem::new();
    let handles: Rc<RefCell<Vec<JoinHandle<()>>>> = Rc::default();
    for name in ["x", "y", "z"] {
        let own = handles.clone();
        let handle = spawn(&system, name, move || {
            yield_now();
            let other = own.borrow_mut().remove(0);
            let _ = other.join();
        });
        handles.borrow_mut().push(handle);
    }
    handles.borrow_mut().rotate_left(1);
    let (channel, lock) = (Object::local(), Object::local());
    let parks = |reason| move || assert_ne!(park(reason), Wake::Unparked);
    drop(spawn(&system, NASTY, parks(Reason::Hungry(channel))));
    drop(spawn(&system, "sends", parks(Reason::Blocked(channel))));
    drop(spawn(&system, "locks", parks(Reason::Lock(lock))));
    drop(spawn(&system, "parks", parks(Reason::Passive)));
    let report = *system.run().unwrap_err().report;
    (report, Names::new().object(channel, "<pipe>"))
}

/// Tags opened and closed in pairs; panics if not.
fn check_nesting(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag has an end");
        let name = tag.split([' ', '/']).next().unwrap();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}

#[test]
fn a_circle_stands_out() {
    let (report, names) = stuck();
    let picture = waits(&report, &names);
    check_nesting(&picture);
    assert_eq!(picture.matches("class=\"arrow circle\"").count(), 3);
    assert_eq!(picture.matches("class=\"node waits in-circle\"").count(), 3 + 1, "and the legend");
    assert_eq!(
        picture.matches("class=\"arrow\"").count(),
        3,
        "two at the channel, one at the lock"
    );
    assert!(picture.contains("7 alive, 7 waiting"), "{picture}");
}

#[test]
fn two_locks_in_opposite_order_are_a_circle() {
    let system = LocalSystem::new();
    let signs = ["left", "right"].map(|name| {
        let sign = Rc::new(Sign::new(Object::local()));
        sign.set_name(name);
        sign
    });
    for own in 0..2 {
        let signs = signs.clone();
        drop(spawn(&system, ["x", "y"][own], move || {
            signs[own].set_holder(current());
            let other = &signs[1 - own];
            park_on(Reason::Lock(other.object()), other);
        }));
    }
    let picture = waits(&system.run().unwrap_err().report, &Names::new());
    assert_eq!(picture.matches("class=\"arrow circle\"").count(), 4, "{picture}");
    assert_eq!(picture.matches(">held by<").count(), 2);
    assert!(picture.contains(">left<") && picture.contains("a circle: none"));
}

#[test]
fn names_are_text() {
    let (report, names) = stuck();
    let picture = waits(&report, &names);
    assert!(!picture.contains("<script") && !picture.contains('\u{1}'));
    assert!(picture.contains("&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\u{2401}織"), "{picture}");
    assert!(picture.contains(">&lt;pipe&gt;<"));
}

#[test]
fn the_same_report_gives_the_same_picture() {
    let (report, names) = stuck();
    assert_eq!(waits(&report, &names), waits(&report, &names));
}

#[test]
fn an_empty_report_is_a_picture_too() {
    let picture = waits(&Report::default(), &Names::new());
    check_nesting(&picture);
    assert!(picture.contains("0 alive, 0 waiting"));
}

#[test]
fn those_who_run_sleep_or_wait_elsewhere() {
    let system = LocalSystem::builder().virtual_time().build();
    let gone = spawn(&system, "gone", || ()).co().unwrap();
    drop(spawn(&system, "sleeper", || sleep(Duration::from_secs(1))));
    drop(spawn(&system, "joiner", move || {
        park(Reason::Joining(Some(gone)));
    }));
    drop(spawn(&system, "late", || ()));
    let before = waits(&system.report(), &Names::new());
    assert!(before.contains("4 alive, 0 waiting"));
    let after = waits(&system.run().unwrap_err().report, &Names::new());
    assert!(after.contains("elsewhere, or has ended"), "{after}");
}

#[test]
fn a_long_name_is_cut_and_told_in_full_to_whoever_points_at_it() {
    let system = LocalSystem::new();
    let name = "a very long name indeed, longer than any picture";
    drop(spawn(&system, name, || {
        park(Reason::Passive);
    }));
    let picture = waits(&system.run().unwrap_err().report, &Names::new());
    assert!(picture.contains(&format!("<title>&#39;{name}&#39; is")), "{picture}");
    assert!(picture.contains(">a very long name indeed, …<"), "{picture}");
}
