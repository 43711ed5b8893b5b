//! The live coroutines of a thread can be listed, each with its state, the place it was made and
//! a backtrace of where it is suspended.

use leno_coroutine::list::{self, Info};
use leno_coroutine::{Builder, Coroutine, State, Suspender, ring, scope};

/// The listed coroutine of that name.
fn find(name: &str) -> Option<Info> {
    list::coroutines().into_iter().find(|info| info.name() == Some(name))
}

fn named(name: &'static str) -> Coroutine<(), ()> {
    let body = |co: &Suspender<(), ()>, ()| co.suspend(());
    Builder::new().name(name).coroutine(body).expect("there is memory")
}

#[test]
fn s41_all_live_coroutines_of_the_thread_oldest_first() {
    assert!(list::coroutines().is_empty());
    let [new, suspended, finished] = ["new", "suspended", "finished"].map(named);
    suspended.resume(());
    finished.iter().for_each(drop);
    let other = std::thread::spawn(|| {
        let theirs = named("theirs");
        (list::coroutines().len(), theirs.is_finished())
    });
    assert_eq!(other.join().unwrap(), (1, false), "each thread lists its own");
    ring::scope(|s| {
        let big = Builder::new().name("member").stack_size(100_000);
        s.spawn_with(big, || ()).expect("there is memory");
        let all = list::coroutines();
        let shown: Vec<_> = all.iter().map(|info| (info.id, info.state, info.is_member)).collect();
        let member = all[2].id;
        let expected = [
            (new.id(), State::New, false),
            (suspended.id(), State::Suspended, false),
            (member, State::New, true),
        ];
        assert_eq!(shown, expected);
        assert_eq!(
            all.iter().map(|info| info.stack_size / 1024).collect::<Vec<_>>(),
            [64, 64, 128]
        );
        assert!(all.iter().all(|info| info.site.file().ends_with("listing.rs")));
    });
    drop((new, suspended, finished));
    assert!(list::coroutines().is_empty());
}

#[test]
fn s41_text_of_an_entry() {
    let line = line!() + 1;
    let pump = Builder::new().name("pump").coroutine(|co: &Suspender<(), ()>, ()| co.suspend(()));
    let pump = pump.expect("there is memory");
    let shown = |state: &str| {
        format!("coroutine 'pump'[{state}], created at {}:{line}:44, stack 64 KiB", file!())
    };
    assert_eq!(find("pump").expect("it is alive").to_string(), shown("new"));
    pump.resume(());
    assert_eq!(find("pump").expect("it is alive").to_string(), shown("suspended"));
    pump.resume(());
    assert!(find("pump").is_none());
}

#[inline(never)]
fn outer_frame(suspend: &dyn Fn()) {
    inner_frame(suspend);
    std::hint::black_box(());
}

#[inline(never)]
fn inner_frame(suspend: &dyn Fn()) {
    suspend();
    std::hint::black_box(());
}

#[test]
#[cfg_attr(miri, ignore = "slow: symbols are read")]
fn s41_backtrace_of_a_suspended_coroutine() {
    let body = |co: &Suspender<(), ()>, ()| outer_frame(&|| co.suspend(()));
    let parked = Builder::new().name("parked").coroutine(body).expect("there is memory");
    assert!(parked.backtrace().is_none(), "it has no frames yet");
    parked.resume(());
    let text = parked.backtrace().expect("it is suspended").to_string();
    let place = |name: &str| text.find(name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    assert!(place("inner_frame") < place("outer_frame"), "innermost first");
    let listed = find("parked").expect("it is alive");
    assert!(listed.backtrace().is_some());
    parked.resume(());
    assert!(parked.is_finished(), "looking at it did no harm");
    assert!(parked.backtrace().is_none() && listed.backtrace().is_none());
}

#[test]
#[cfg_attr(miri, ignore = "slow: symbols are read")]
fn s41_backtrace_of_a_waiting_member_and_none_of_a_running_one() {
    ring::scope(|s| {
        let body = || {
            assert!(find("waiting").expect("it is alive").backtrace().is_none(), "it runs");
            outer_frame(&ring::yield_now);
        };
        let member = s.spawn_with(Builder::new().name("waiting"), body).expect("there is memory");
        assert!(find("waiting").expect("it is alive").backtrace().is_none(), "it is new");
        ring::yield_now();
        let text = find("waiting").and_then(|info| info.backtrace()).expect("it waits").to_string();
        assert!(text.contains("outer_frame"), "{text}");
        ring::yield_now();
        assert!(member.is_finished() && ring::failures().unwrap().is_empty());
    });
}

#[test]
fn s41_running_ones_are_those_that_wait_for_one_another() {
    let named = |name: &'static str| Builder::new().name(name);
    let seen = scope(|s| {
        let outer = s.coroutine_with(named("outer"), |_: &Suspender<(), ()>, ()| {
            scope(|s| {
                let body = |_: &Suspender<(), ()>, ()| list::coroutines();
                let inner = s.coroutine_with(named("inner"), body).expect("there is memory");
                inner.resume(()).finished().expect("it ends")
            })
        });
        let idle = named("idle").coroutine(|_: &Suspender<(), ()>, ()| ());
        let seen = outer.expect("there is memory").resume(()).finished().expect("it ends");
        drop(idle);
        seen
    });
    let shown: Vec<_> =
        seen.iter().map(|i| format!("{}:{}", i.name().unwrap_or("none"), i.state)).collect();
    assert_eq!(shown, ["outer:running", "idle:new", "inner:running"]);
}

/// Five asymmetric coroutines deep inside a member, that member is found.
#[test]
fn s22_current_member_is_found_through_a_chain_of_five() {
    fn deep(level: u32) -> Vec<Info> {
        if level == 0 {
            return list::coroutines();
        }
        let next = Coroutine::new(move |_: &Suspender<(), ()>, ()| deep(level - 1));
        next.resume(()).finished().expect("it ends")
    }
    ring::scope(|s| {
        let spawn = |name| {
            let body = move || {
                let chain = deep(5);
                let running = |member| {
                    let is = move |i: &&Info| i.state == State::Running && i.is_member == member;
                    chain.iter().filter(is).collect::<Vec<_>>()
                };
                assert_eq!(running(false).len(), 5, "the chain");
                let [current] = running(true)[..] else { panic!("one member runs") };
                assert_eq!(current.name(), Some(name));
                assert_eq!(ring::current().map(|own| own.status().id()), Ok(current.id));
            };
            s.spawn_with(Builder::new().name(name), body).expect("there is memory");
        };
        ["first", "second"].into_iter().for_each(spawn);
        ring::yield_now();
        assert!(ring::failures().unwrap().is_empty());
    });
}
