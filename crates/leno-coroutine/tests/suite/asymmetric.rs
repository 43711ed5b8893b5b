//! Asymmetric coroutines do what Stadler 2011 asks of them: they run when called and at no other
//! time, take an input and give an output each time, and suspend from however deep in calls.

use std::cell::Cell;
use std::rc::Rc;

use crate::support::Log;
use leno_coroutine::{Builder, Coroutine, State, Step, Suspend, Suspender, ring};

/// A body as a type of its own, beside the closures of the other tests.
struct Doubler {
    calls: u32,
}

impl Doubler {
    fn run(mut self, co: &Suspender<u32, u32>, mut input: u32) -> u32 {
        while input != 0 {
            self.calls += 1;
            input = co.suspend(input * 2);
        }
        self.calls
    }
}

#[test]
fn s3_closure_type_function_name_and_stack_size() {
    fn double(co: &Suspender<u32, u32>, first: u32) -> u32 {
        Doubler { calls: 0 }.run(co, first)
    }
    let small = || Builder::new().stack_size(16 * 1024);
    let made: [Coroutine<u32, u32, u32>; 6] = [
        Coroutine::new(|co: &Suspender<u32, u32>, first| Doubler { calls: 0 }.run(co, first)),
        Coroutine::new(double),
        Builder::new().coroutine(double).unwrap(),
        small().coroutine(double).unwrap(),
        small().name("doubler").coroutine(double).unwrap(),
        small().unstarted(double).start().unwrap(),
    ];
    for coroutine in &made {
        assert_eq!(coroutine.state(), State::New);
        assert_eq!(coroutine.resume(4), Step::Suspended(8));
        assert_eq!(coroutine.resume(5), Step::Suspended(10));
        assert_eq!(coroutine.resume(0), Step::Finished(2));
        assert!(coroutine.is_finished());
    }
    assert_eq!(made[4].name(), Some("doubler"));
    assert_eq!(made[0].name(), None);
}

#[test]
fn s15_runs_when_called_and_at_no_other_time() {
    let runs = Rc::new(Cell::new(0));
    let counted = runs.clone();
    let outside = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        loop {
            counted.set(counted.get() + 1);
            co.suspend(());
        }
    });
    ring::scope(|s| {
        s.spawn(|| (0..3).for_each(|_| ring::yield_now()));
        (0..5).for_each(|_| ring::yield_now());
        assert_eq!(runs.get(), 0, "the ring does not know it");
        outside.resume(());
        (0..5).for_each(|_| ring::yield_now());
        assert_eq!(runs.get(), 1);
    });
    outside.resume(());
    assert_eq!(runs.get(), 2);
}

#[test]
fn s16_caller_may_be_a_thread_a_member_or_another_coroutine() {
    let log = Log::new();
    let inner = log.clone();
    let body = move |co: &Suspender<&'static str, usize>, mut who: &'static str| loop {
        inner.push(who);
        who = co.suspend(who.len());
    };
    let echo: Rc<Coroutine<&'static str, usize>> = Rc::new(Coroutine::new(body));
    assert_eq!(echo.resume("thread "), Step::Suspended(7));
    let shared = echo.clone();
    let middle = Coroutine::new(move |_: &Suspender<(), ()>, ()| shared.resume("coroutine "));
    assert_eq!(middle.resume(()).finished().map(|step| step.suspended()), Some(Some(10)));
    ring::scope(|s| {
        s.spawn(|| assert_eq!(echo.resume("member ").suspended(), Some(7)));
        ring::yield_now();
    });
    assert_eq!(echo.resume("thread").suspended(), Some(6), "back to whoever called last");
    assert_eq!(log.text(), "thread coroutine member thread");
}

#[test]
fn s16_asym_multi_sequence() {
    fn level(n: usize, log: &Log) -> Coroutine<(), ()> {
        let log = log.clone();
        Coroutine::new(move |co: &Suspender<(), ()>, ()| {
            let inner = (n < 4).then(|| level(n + 1, &log));
            let call = || inner.as_ref().map(|inner| inner.resume(()));
            log.push(format!("b{n}"));
            call();
            log.push(format!("c{n}"));
            co.suspend(());
            log.push(format!("e{n}"));
            call();
            log.push(format!("f{n}"));
        })
    }
    let log = Log::new();
    let outermost = level(0, &log);
    log.push("a_");
    outermost.resume(());
    log.push("d");
    assert!(!outermost.is_finished());
    outermost.resume(());
    log.push("g");
    assert!(outermost.is_finished());
    assert_eq!(log.text(), "a_b0b1b2b3b4c4c3c2c1c0de0e1e2e3e4f4f3f2f1f0g");
}

#[test]
fn s17_asym_return_value_2001_to_12006() {
    let coroutine = Coroutine::new(|co: &Suspender<i32, i32>, first| {
        let last = (1..=5).fold(first, |value, n| co.suspend(2 * value + n));
        2 * last + 6
    });
    let values: Vec<i32> = (1..=6).map(|n| coroutine.resume(n * 1000).into_value()).collect();
    assert_eq!(values, [2001, 4002, 6003, 8004, 10005, 12006]);
    assert!(coroutine.is_finished());
}

#[test]
fn s18_asym_sequence_and_an_error_at_the_third_call() {
    let log = Log::new();
    let body = log.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<Option<u8>, ()>, first: Option<u8>| {
        let show = |input: Option<u8>| body.push(input.map_or("null".into(), |n| n.to_string()));
        show(first);
        body.push("b");
        show(co.suspend(()));
        body.push("d");
    });
    log.push("a");
    assert_eq!(coroutine.resume(None), Step::Suspended(()));
    log.push("c");
    assert_eq!(coroutine.resume(None), Step::Finished(()));
    log.push("e");
    assert_eq!(log.text(), "anullbcnullde");
    assert!(coroutine.try_resume(None).is_err());
}

/// Calls `start` for each tag of `text`, with the tag's depth, as a push parser does.
fn push_parse(text: &str, start: &mut dyn FnMut(usize, &str)) {
    fn element<'t>(depth: usize, mut rest: &'t str, start: &mut dyn FnMut(usize, &str)) -> &'t str {
        while let Some(open) = rest.find('<') {
            let close = open + rest[open..].find('>').expect("a closed tag");
            let tag = &rest[open + 1..close];
            rest = &rest[close + 1..];
            if tag.starts_with('/') {
                return rest;
            }
            start(depth, tag);
            rest = element(depth + 1, rest, start);
        }
        rest
    }
    element(0, text, start);
}

#[test]
fn s23_push_parser_becomes_a_pull_parser() {
    let parser = Coroutine::new(|co: &Suspender<(), (usize, String)>, ()| {
        let text = "<a>1<b><c>2</c></b>3<d></d></a><e></e>";
        push_parse(text, &mut |depth, tag| co.suspend((depth, tag.to_owned())));
    });
    let mut tags = Vec::new();
    while let Step::Suspended((depth, tag)) = parser.resume(()) {
        tags.push(format!("{depth}{tag}"));
    }
    assert_eq!(tags, ["0a", "1b", "2c", "1d", "0e"]);
}

#[test]
fn s25_body_for_wider_input_and_narrower_output_fits() {
    /// Takes any integer that fits an `i64`, gives a `&'static str`.
    fn describe(co: &impl Suspend<i64, &'static str>, first: i64) -> &'static str {
        let word = |n: i64| if n < 0 { "negative" } else { "positive" };
        word(co.suspend(word(first)))
    }
    let wanted: Coroutine<i32, String, String> =
        Coroutine::new(|co: &Suspender<i32, String>, first| {
            describe(&co.map(i64::from, str::to_owned), first.into()).to_owned()
        });
    assert_eq!(wanted.resume(-7), Step::Suspended("negative".to_owned()));
    assert_eq!(wanted.resume(7), Step::Finished("positive".to_owned()));

    /// Lifetimes fit by themselves: a body that takes any `&str` and gives `&'static str`.
    fn shorter<'a>(given: Coroutine<&'a str, &'static str>) -> Coroutine<&'static str, &'a str> {
        given
    }
    let any = Coroutine::new(|co: &Suspender<&'static str, &'static str>, _| {
        co.suspend("first");
    });
    assert_eq!(shorter(any).resume("input"), Step::Suspended("first"));
}

#[test]
fn s26_unit_stands_for_unused_input_or_output() {
    let counter = Coroutine::new(|co: &Suspender<(), u8>, ()| co.suspend(1));
    assert_eq!(counter.resume(()), Step::Suspended(1));
    let sum = Rc::new(Cell::new(0));
    let body = sum.clone();
    let sink = Coroutine::new(move |co: &Suspender<i32, ()>, mut n: i32| {
        while n != 0 {
            body.set(body.get() + n);
            n = co.suspend(());
        }
    });
    let steps = [3, 4, 0].map(|n| sink.resume(n));
    assert_eq!(steps, [Step::Suspended(()), Step::Suspended(()), Step::Finished(())]);
    assert_eq!(sum.get(), 7);
    let neither = Coroutine::new(|co: &Suspender<(), ()>, ()| co.suspend(()));
    assert_eq!([neither.resume(()), neither.resume(())], [Step::Suspended(()), Step::Finished(())]);
}

#[test]
fn s76_alpher_then_bethe_then_gamow() {
    let next = Coroutine::new(|co: &Suspender<(), &'static str>, ()| {
        co.suspend("Alpher");
        co.suspend("Bethe");
        "Gamow"
    });
    let names: Vec<_> = (0..3).map(|_| next.resume(()).into_value()).collect();
    assert_eq!(names, ["Alpher", "Bethe", "Gamow"]);
    assert!(next.is_finished());
}
