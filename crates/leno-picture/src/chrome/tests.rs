//! The rules of the trace event format, checked on what is written.

use std::collections::HashMap;

use leno_kernel::log::{Operation, What, add, mark};
use leno_kernel::{LocalSystem, Object, Options, Reason, System, park, sleep, unpark, yield_now};
use serde_json::Value;

use super::*;

const NASTY: &str = "</script> \"quoted\" \\ ü織🧵 \n\u{2028}";

fn virtual_log() -> Log {
    let system = LocalSystem::builder().virtual_time().log(1_000).build();
    let pipe = Object::local();
    let taker = Options::new().name(NASTY);
    let taker = system
        .spawn_with(&taker, move || {
            for _ in 0..3 {
                park(Reason::Hungry(pipe));
                add(|| What::Does(Operation::Receive, pipe));
            }
            mark(NASTY);
        })
        .unwrap();
    let co = taker.co().unwrap();
    drop(system.spawn(move || {
        for _ in 0..3 {
            add(|| What::Does(Operation::Send, pipe));
            unpark(co);
            yield_now();
        }
        sleep(core::time::Duration::from_millis(3));
    }));
    system.run().unwrap();
    system.log()
}

fn events(trace: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(trace).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

fn nanos(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1_000.0).round() as u64
}

/// Panics if a rule of the format is broken.
fn check(trace: &str) -> HashMap<String, usize> {
    let mut count: HashMap<String, usize> = HashMap::new();
    let mut slices: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    let mut flows: HashMap<u64, Vec<(String, u64, u64)>> = HashMap::new();
    for event in &events(trace) {
        let ph = event["ph"].as_str().unwrap();
        *count.entry(ph.to_owned()).or_default() += 1;
        assert_eq!(event["pid"], 1);
        let tid = event["tid"].as_u64().unwrap();
        assert!(event["name"].is_string(), "{event}");
        match ph {
            "M" => assert!(event["args"].is_object(), "{event}"),
            "X" => {
                let (from, length) = (nanos(&event["ts"]), nanos(&event["dur"]));
                slices.entry(tid).or_default().push((from, from + length));
            }
            "i" => assert_eq!((&event["s"], event["ts"].is_number()), (&"t".into(), true)),
            "s" | "f" => {
                let (id, at) = (event["id"].as_u64().unwrap(), nanos(&event["ts"]));
                let bind = if ph == "f" { Value::from("e") } else { Value::Null };
                assert_eq!(event["bp"], bind);
                flows.entry(id).or_default().push((ph.to_owned(), tid, at));
            }
            other => panic!("a phase that is never written: {other}"),
        }
    }
    for slices in slices.values() {
        assert!(slices.windows(2).all(|two| two[0].1 <= two[1].0), "{slices:?}");
        assert!(slices.iter().all(|(from, to)| from < to), "{slices:?}");
    }
    for flow in flows.values() {
        let [start, finish] = &flow[..] else { panic!("{flow:?}") };
        assert_eq!((start.0.as_str(), finish.0.as_str()), ("s", "f"));
        assert!(start.2 <= finish.2, "{flow:?}");
        for (_, tid, at) in flow {
            let in_slice = slices[tid].iter().any(|(from, to)| from <= at && at < to);
            assert!(in_slice, "a flow begins and ends in a slice: {flow:?}");
        }
    }
    count
}

#[test]
fn a_trace_keeps_the_rules_of_its_format() {
    let log = virtual_log();
    let trace = chrome(&log, &Names::new());
    let count = check(&trace);
    assert_eq!(count["M"], 1 + 2 * 3, "the process, two coroutines and outside");
    assert_eq!(count["s"], count["f"]);
    let events = events(&trace);
    let of = |cat: &str| events.iter().filter(|event| event["cat"] == cat).count();
    assert_eq!((of("value"), of("wake-up"), of("mark")), (6, 6, 1));
    let names: Vec<&Value> =
        events.iter().filter(|e| e["name"] == "thread_name").map(|e| &e["args"]["name"]).collect();
    assert_eq!(names, [NASTY, "coroutine 2", "outside"]);
}

#[test]
fn a_trace_of_the_same_run_is_the_same() {
    let trace = || chrome(&virtual_log(), &Names::new());
    assert!(trace() == trace());
}

#[test]
fn several_cores_and_lost_events_keep_the_rules_too() {
    let system = System::builder().cores(2).log(50).build().unwrap();
    let spawn = |_| system.spawn(|| (0..20).for_each(|_| yield_now()));
    let handles: Vec<_> = (0..6).map(spawn).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    let log = system.log();
    assert!(log.lost() > 0);
    let count = check(&chrome(&log, &Names::new()));
    assert!(count["X"] > 20);
}

#[test]
fn an_empty_log_is_an_empty_trace() {
    assert_eq!(check(&chrome(&Log::default(), &Names::new()))["M"], 3);
}
