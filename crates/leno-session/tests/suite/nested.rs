//! JSON that is nested too deeply for the stack of a coroutine is refused; it does not end the process.
#![forbid(unsafe_code)]

use std::process::Command;

use leno_frame::{Co, resumable};
use leno_kernel::LocalSystem;
use leno_session::{
    FromWake, Json, Memory, SessionError, SessionId, Sessions, Stage, State, Wait, Wake,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize, Clone, Default)]
struct Tree {
    name: Option<String>,
    children: Vec<Tree>,
}

impl Tree {
    fn deep(levels: usize) -> Tree {
        let mut tree = Tree::default();
        for _ in 0..levels {
            tree = Tree { name: None, children: vec![tree] };
        }
        tree
    }
}

/// Takes an answer, sends it to itself, shows it and returns it.
#[resumable]
async fn echo(co: &mut Co<Wait, Option<Json<Value>>, Stage>, _argument: Value) -> Value {
    let answer = co.suspend(Wait::answer("well?")).await;
    answer.map_or(Value::Null, |Json(value)| value)
}

/// Says, or sends, what is deeper than the stack has room for.
#[resumable]
async fn says(co: &mut Co<Wait, Option<String>, Stage>, sends: bool, levels: usize) -> u32 {
    if sends {
        co.ctx().send_json(SessionId::from_bytes([7; 16]), &Tree::deep(levels));
    }
    let _answer = co.suspend(Wait::answer(Tree::deep(levels))).await;
    1
}

fn lists(levels: usize) -> String {
    ["[".repeat(levels), "]".repeat(levels)].concat()
}

fn in_a_coroutine(run: impl FnOnce() + 'static) {
    let system = LocalSystem::new();
    let ran = system.spawn(run);
    system.run().unwrap();
    ran.join().unwrap();
}

/// Runs a test of this file in a process of its own, which an overflow would end.
#[track_caller]
fn survives(name: &str) {
    let program = std::env::current_exe().unwrap();
    let (_crate, module) = module_path!().split_once("::").unwrap();
    let name = format!("{module}::{name}");
    let arguments = [&*name, "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "no test has run");
}

#[test]
#[ignore = "it is the process of another"]
fn answers() {
    in_a_coroutine(|| {
        let read = Json::<Value>::from_wake(Wake::Answer(lists(127).into()));
        let error = read.expect_err("it is refused");
        assert!(error.contains("deeper than the stack has room for"), "{error}");
        let body = [r#"{"children":["#.repeat(60), "]}".repeat(60)].concat();
        assert!(Json::<Tree>::from_wake(Wake::Answer(body.into_bytes())).is_err());
        assert!(Json::<Value>::from_wake(Wake::Answer(lists(3).into())).is_ok());
    });
}

#[test]
fn a_deep_answer_is_refused_in_a_coroutine() {
    survives("answers");
    // A thread has room.
    assert!(Json::<Value>::from_wake(Wake::Answer(lists(127).into())).is_ok());
}

#[test]
#[ignore = "it is the process of another"]
fn engine() {
    let store = Memory::new();
    let open = {
        let store = store.clone();
        move || Sessions::open(store.clone()).register("echo", echo).register("says", says)
    };
    let deep: Value = serde_json::from_str(&lists(100)).unwrap();
    // Stored by a thread, which has room for it, and run by a worker in a coroutine.
    let sessions = open();
    let deeply_started = sessions.start("echo", &(deep.clone(),)).unwrap();
    let asked = sessions.start("echo", &(1,)).unwrap();
    let said = sessions.start("says", &(false, 300)).unwrap();
    let sent = sessions.start("says", &(true, 300)).unwrap();
    let reopen = open.clone();
    in_a_coroutine(move || assert!(reopen().work_off().is_ok()));
    let row = sessions.show(deeply_started).unwrap();
    assert_eq!(row.state, State::Quarantined, "its arguments are too deep here: {}", row.reason);
    let row = sessions.show(said).unwrap();
    assert_eq!(row.state, State::Waiting, "{}", row.reason);
    assert!(row.text().starts_with("cannot be shown: "), "{}", row.text());
    assert_eq!(sessions.show(sent).unwrap().state, State::Failed);
    sessions.answer(asked, &lists(100)).unwrap();
    sessions.answer(asked, &lists(2)).unwrap();
    let reopen = open.clone();
    in_a_coroutine(move || assert!(reopen().work_off().is_ok()));
    let row = sessions.show(asked).unwrap();
    assert_eq!((row.state, row.text().as_str()), (State::Done, "[[]]"), "the first was refused");
    // A worker with room runs what the other could not.
    sessions.retry(deeply_started).unwrap();
    assert_eq!(sessions.run(deeply_started).unwrap().state, State::Waiting);
    sessions.answer(deeply_started, &lists(100)).unwrap();
    assert_eq!(sessions.run(deeply_started).unwrap().state, State::Done);
    in_a_coroutine(move || {
        let sessions = open();
        assert!(sessions.show(deeply_started).unwrap().value::<Value>().is_none());
        assert!(sessions.inspect(deeply_started).is_ok());
        let started = sessions.start("echo", &(Tree::deep(300),));
        assert!(matches!(started, Err(SessionError::Arguments { .. })), "{started:?}");
        let waiting = sessions.start("echo", &(1,)).unwrap();
        sessions.run(waiting).unwrap();
        assert!(sessions.answer(waiting, &lists(100)).is_err());
    });
}

#[test]
fn deep_values_of_sessions_end_no_worker_in_a_coroutine() {
    survives("engine");
}
