//! `leno trace`, as a user calls it.
#![forbid(unsafe_code)]

use std::process::{Command, Output};

fn trace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leno")).arg("trace").args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn pictures_go_to_files_or_to_standard_output() {
    let folder = std::env::temp_dir().join(format!("leno-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (html, chrome) = (folder.join("a.html"), folder.join("a.json"));
    let [html, chrome] = [&html, &chrome].map(|path| path.to_str().unwrap());
    let output = trace(&["--html", html, "--chrome", chrome, "--svg", "-"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).starts_with("<svg"));
    let html = std::fs::read_to_string(html).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("parser 2"));
    let chrome = std::fs::read_to_string(chrome).unwrap();
    assert!(chrome.contains("\"traceEvents\"") && chrome.contains("all pages read"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn without_options_the_log_is_text() {
    let output = trace(&[]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).contains("'reader' says: all pages read"), "{}", out(&output));
    assert!(out(&output).contains("says: 3600 words"));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_is_wrong_is_named() {
    for (arguments, wrong) in [
        (&["--pdf", "x"][..], "'--pdf' is not an option"),
        (&["--html"], "--html needs a file"),
        (&["--html", "--svg"], "--html needs a file"),
        (&["--svg", "-", "--svg", "-"], "--svg is given twice"),
        (&["--svg", "-", "--html", "-"], "only one picture can go to standard output"),
    ] {
        let output = trace(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(wrong), "{arguments:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
    let output = trace(&["--svg", "/nowhere/at/all.svg"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("cannot write /nowhere/at/all.svg"), "{}", err(&output));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn help_is_given_when_asked_for() {
    let output = trace(&["--svg", "--help"]);
    assert!(output.status.success() && out(&output).contains("--chrome FILE"));
}
