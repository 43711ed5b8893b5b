//! `LENO_REPLAY` and `LENO_SEED`: each program runs in a process of its own, as a test that has failed would.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use leno_explore::{Explorer, explore, thread};

/// Two threads look at a number, and then set it.
fn lossy() {
    let counter = Arc::new(AtomicU32::new(0));
    let adders = ["one", "two"].map(|name| {
        let counter = counter.clone();
        thread::spawn(name, move || {
            let before = counter.load(SeqCst);
            thread::yield_now();
            counter.store(before + 1, SeqCst);
        })
    });
    adders.into_iter().for_each(|adder| adder.join().unwrap());
    assert_eq!(counter.load(SeqCst), 2, "an addition was lost");
}

/// Three threads, so that there are other choices.
fn wider() {
    let others = ["one", "two", "three"].map(|name| thread::spawn(name, thread::yield_now));
    others.into_iter().for_each(|other| other.join().unwrap());
}

/// One other thread: there are few schedules.
fn narrow() {
    let other = thread::spawn("other", thread::yield_now);
    thread::yield_now();
    other.join().unwrap();
}

/// The program of the process that a test of this file has started.
#[test]
fn child() {
    match std::env::var("LENO_CHILD").unwrap_or_default().as_str() {
        "default" => explore(lossy),
        "random" => Explorer::new().random(9).check(lossy),
        "pct" => Explorer::new().pct(9, 2).check(lossy),
        "exhaustive" => {
            Explorer::new().exhaustive().most_interruptions(2).must_complete().check(lossy)
        }
        "exhaustive, one run" => Explorer::new().exhaustive().runs(1).check(wider),
        "replayed" => Explorer::new().replay("-".parse().unwrap()).check(|| ()),
        "wider" => explore(wider),
        "no choice" => Explorer::new().exhaustive().check(|| ()),
        _ => {}
    }
}

/// Runs the program in another process: whether all went well, and what it printed.
fn run(program: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let (_crate, child) = concat!(module_path!(), "::child").split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", child, "--nocapture"]).env("LENO_CHILD", program);
    command.env_remove("LENO_REPLAY").env_remove("LENO_SEED");
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// The token of a failure, and one by which nothing fails.
fn tokens() -> (String, String) {
    let failure = Explorer::new().exhaustive().run(lossy).unwrap_err();
    let right = Explorer::new().exhaustive().run(|| {
        lossy();
        panic!("for its token");
    });
    (failure.shortest().to_string(), right.unwrap_err().token().to_string())
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn the_token_of_a_failure_is_run_whatever_the_strategy() {
    let (token, _) = tokens();
    for program in ["default", "random", "pct", "exhaustive"] {
        let (is_right, text) = run(program, &[("LENO_REPLAY", &token)]);
        assert!(!is_right && text.contains("an addition was lost"), "{program}: {text}");
        assert!(text.contains("found in run 1 (replay)"), "{program}: {text}");
    }
    // One that the program asks for itself is its own affair.
    let (is_right, text) = run("replayed", &[("LENO_REPLAY", &token)]);
    assert!(is_right && !text.contains("LENO_REPLAY"), "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_schedule_under_which_nothing_fails_says_so() {
    let (_, right) = tokens();
    for program in ["default", "exhaustive"] {
        let (is_right, text) = run(program, &[("LENO_REPLAY", &right)]);
        let said = "LENO_REPLAY: this schedule ran, and nothing failed";
        assert!(is_right && text.contains(said), "{program}: {text}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_token_that_does_not_fit_is_said_not_to() {
    let (token, right) = tokens();
    for token in [&token, &right, "P2", "-"] {
        let (is_right, text) = run("wider", &[("LENO_REPLAY", token)]);
        assert!(!is_right && text.contains("not controlled: diverged: "), "{token}: {text}");
        assert!(text.contains("the token does not fit"), "{token}: {text}");
    }
    let (is_right, text) = run("no choice", &[("LENO_REPLAY", "P2P2")]);
    assert!(!is_right && text.contains("ended after 0 of the token's 2 choices"), "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn what_cannot_be_read_is_reported() {
    for (variable, value) in [("LENO_SEED", "x"), ("LENO_SEED", "-1"), ("LENO_REPLAY", "x?")] {
        for program in ["default", "exhaustive"] {
            let (is_right, text) = run(program, &[(variable, value)]);
            let said = format!("{variable}={value}: ");
            assert!(!is_right && text.contains(&said), "{program}: {text}");
        }
    }
    let (is_right, text) = run("wider", &[("LENO_SEED", "17")]);
    assert!(is_right, "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn check_says_that_runs_were_used_up() {
    let (is_right, text) = run("exhaustive, one run", &[]);
    assert!(is_right && text.contains("leno-explore: not complete: "), "{text}");
    let (is_right, text) = run("no choice", &[]);
    assert!(is_right && !text.contains("not complete"), "{text}");
}

#[test]
fn what_must_complete_fails_if_runs_are_used_up() {
    let all = || Explorer::new().exhaustive().must_complete();
    let summary = all().run(narrow).unwrap();
    assert!(summary.is_complete(), "{summary}");
    // With exactly so many runs it is complete, too.
    assert!(all().runs(summary.runs()).run(narrow).unwrap().is_complete());
    let failure = all().runs(summary.runs() - 1).run(narrow).unwrap_err();
    let said = format!(
        "not complete: there are other schedules than those of the {} runs that were allowed",
        summary.runs() - 1
    );
    assert_eq!(failure.to_string(), said);
    // All that a bound leaves is enough.
    let bounded = all().most_interruptions(1).run(narrow).unwrap();
    assert!(!bounded.is_complete() && bounded.runs() < summary.runs(), "{bounded}");
    // It is asked of exhaustive runs only.
    assert!(!all().random(1).runs(1).run(narrow).unwrap().is_complete());
}
