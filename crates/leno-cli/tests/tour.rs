//! `leno tour`, as a user calls it.
#![forbid(unsafe_code)]
#![cfg(not(miri))]

use std::process::{Command, Output};

fn leno(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leno")).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Every stop but the one that wants all memory there is.
fn small_stops() -> Vec<String> {
    let list = out(&leno(&["tour", "--list"]));
    let lines = list.lines().filter(|line| !line.starts_with(' '));
    let names = lines.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "million").collect()
}

#[test]
fn every_stop_shows_itself_and_finds_its_result_right() {
    let stops = small_stops();
    assert!(stops.len() >= 10, "{stops:?}");
    let mut arguments = vec!["tour"];
    stops.iter().for_each(|name| arguments.extend(["--only", name]));
    let output = leno(&arguments);
    let text = out(&output);
    assert!(output.status.success(), "{text}");
    let (_, table) = text.split_once("== what ran ==").unwrap();
    for name in &stops {
        assert!(text.contains(&format!(": {name} ==")), "{text}");
        assert!(table.contains(&format!("ok     {name}")), "{table}");
    }
    assert!(table.contains("== read on =="), "{table}");
    assert!(!text.contains('\x1b'), "colours are for terminals");
    assert!(output.stderr.is_empty(), "progress is for terminals");
}

#[test]
fn programs_are_told_the_same_as_json() {
    let output = leno(&["--json", "--only", "generator", "--only", "fibres"]);
    let text = out(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("{\n  \"ok\": true,\n  \"stops\": [\n"), "{text}");
    assert!(text.ends_with("]\n}\n"), "{text}");
    for part in [
        r#"{"name": "generator", "ok": true, "milliseconds": "#,
        r#""says": ["fibonacci: [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]"], "result": "#,
        r#"{"name": "fibres", "ok": true, "#,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn what_is_no_option_and_no_stop_is_refused() {
    for (arguments, says) in [
        (["tour", "--only", "nowhere"].as_slice(), "there is no stop 'nowhere'"),
        (&["tour", "--only"], "--only needs the name of a stop"),
        (&["tour", "--fast"], "'--fast' is not an option"),
    ] {
        let output = leno(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains(says), "{error}");
    }
}
