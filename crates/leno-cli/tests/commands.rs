//! What the `leno` command says of itself, replays, completions, and pictures of logs.
#![forbid(unsafe_code)]
#![cfg(not(miri))]

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn leno(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leno")).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The first token that a text has.
fn token(text: &str) -> String {
    let (_, rest) = text.split_once("LENO_REPLAY=").unwrap();
    rest.split_whitespace().next().unwrap().trim_end_matches(['"', ',']).to_owned()
}

#[test]
fn every_command_explains_itself_with_examples() {
    let whole = out(&leno(&["help"]));
    assert_eq!(whole, out(&leno(&["--help"])));
    for command in ["tour", "bench", "trace", "replay", "sessions", "completions"] {
        assert!(
            whole.contains(&format!("leno {command}")) || whole.contains("leno [tour]"),
            "{command}"
        );
        let help = leno(&["help", command]);
        assert!(help.status.success());
        assert!(out(&help).to_lowercase().contains("examples"), "{command}");
        assert_eq!(out(&help), out(&leno(&[command, "--help"])), "{command}");
        let too_wide = |line: &&str| line.chars().count() > 80;
        assert_eq!(out(&help).lines().chain(whole.lines()).find(too_wide), None, "{command}");
    }
    let list = out(&leno(&["tour", "--list"]));
    assert_eq!(list.lines().find(|line| line.chars().count() > 80), None);
    let wrong = leno(&["help", "dance"]);
    assert_eq!((wrong.status.code(), out(&wrong).as_str()), (Some(2), ""));
    assert!(err(&wrong).contains("there is no command 'dance'"));
    let wrong = leno(&["dance"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("leno help names them"));
    assert!(out(&leno(&["--version"])).starts_with("leno 0."));
}

/// `leno replay TOKEN | head`: whoever has read enough is no reason for a panic.
#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let commands: [&[&str]; 7] = [
        &["help"],
        &["bench", "--help"],
        &["completions", "bash"],
        &["replay", "P2P3X2"],
        &["trace"],
        &["tour", "--list"],
        &["tour", "--only", "generator"],
    ];
    for arguments in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leno"));
        // A pipe whose reader is gone before the command begins.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_eq!(err(&output), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(141), "{arguments:?}");
    }
}

#[test]
fn shells_understand_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let text = out(&leno(&["completions", shell]));
        assert!(text.contains("tour") && text.contains("replay"), "{shell}: {text}");
    }
    let wrong = leno(&["completions", "tcsh"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("'tcsh' is no shell it knows"));
    // Where there is a bash, it completes.
    let script = "source /dev/stdin; COMP_WORDS=(leno to); COMP_CWORD=1; _leno; echo ${COMPREPLY[*]}; \
                  COMP_WORDS=(leno bench --h); COMP_CWORD=2; _leno; echo ${COMPREPLY[*]}";
    let bash = Command::new("bash")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut bash) = bash else { return };
    let text = out(&leno(&["completions", "bash"]));
    bash.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let completed = out(&bash.wait_with_output().unwrap());
    assert_eq!(completed, "tour\n--html --help\n");
}

#[test]
fn a_token_of_the_tour_is_replayed() {
    let shown = out(&leno(&["tour", "--only", "explore"]));
    let token = token(&shown);
    let output = leno(&["replay", &token]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(out(&output).contains("an addition was lost"), "{}", out(&output));
    // Another program finds it in its environment, and its status is handed on.
    let output = leno(&["replay", &token, "--", "sh", "-c", "echo $LENO_REPLAY; exit 7"]);
    assert_eq!((output.status.code(), out(&output)), (Some(7), format!("{token}\n")));
    for (arguments, wrong) in [
        (&["replay"][..], "it needs a token"),
        (&["replay", "?"], "leno help replay"),
        (&["replay", &token, "--"], "after -- comes a command"),
        (&["replay", &token, "--slow"], "'--slow' is not an option"),
    ] {
        let output = leno(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(wrong), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn a_log_that_was_written_down_becomes_a_timeline() {
    let folder = std::env::temp_dir().join(format!("leno-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let log = folder.join("run.log");
    let text = out(&leno(&["trace"]));
    std::fs::write(&log, format!("a line of another program\n{text}")).unwrap();
    let log = log.to_str().unwrap();
    let output = leno(&["trace", log]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(err(&output).contains("1 lines are no events"), "{}", err(&output));
    let page = std::fs::read_to_string(format!("{log}.html")).unwrap();
    for part in
        ["<!doctype html>", "'parser 2'", "all pages read", "class=\"run\"", "class=\"wake\""]
    {
        assert!(page.contains(part), "{part}");
    }
    let output = leno(&["trace", log, "--html", "-"]);
    assert_eq!(out(&output), page);
    std::fs::write(log, "nothing of ours").unwrap();
    let output = leno(&["trace", log]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("has no line of a log"), "{}", err(&output));
    let output = leno(&["trace", log, "--svg", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("only a timeline"), "{}", err(&output));
    let output = leno(&["trace", "/nowhere/at/all.log"]);
    assert!(err(&output).contains("cannot read /nowhere/at/all.log"), "{}", err(&output));
    std::fs::remove_dir_all(folder).unwrap();
}
