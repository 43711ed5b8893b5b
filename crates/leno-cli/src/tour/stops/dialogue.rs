//! A dialogue that outlives its processes.
//!
//! Each step is a process of this very command, `leno dialogue FILE [ANSWER]`, which nobody else calls: it
//! restores the dialogue, gives it the answer, stores it, and then waits to be killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};

use crate::output::tell;
use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "dialogue",
    shows: "A coroutine asks questions, suspended in a loop in a call. It is stored after each answer,\n\
            its process killed, and gone on with in a new one that has never seen it.",
    run: dialogue,
    read: "leno::frame, leno::session, examples 30_questionnaire to 33_checkpoint",
};

type Dialogue = Co<String, String>;
type Failure = Box<dyn std::error::Error>;

#[resumable]
async fn number(co: &mut Dialogue, question: String) -> u32 {
    loop {
        if let Ok(number) = co.suspend(question.clone()).await.parse() {
            return number;
        }
    }
}

#[resumable]
async fn area(co: &mut Dialogue) -> String {
    let width = number(co, "how wide?".into()).await;
    let height = number(co, "how high?".into()).await;
    format!("an area of {}", width * height)
}

/// One step, in a process of its own: what it says goes to standard output, once it is stored.
pub(crate) fn step(arguments: &[String]) -> ExitCode {
    let Some(file) = arguments.first() else { return ExitCode::from(2) };
    let said = match answer(Path::new(file), arguments.get(1)) {
        Ok(said) => said,
        Err(error) => {
            eprintln!("leno dialogue: {error}");
            return ExitCode::FAILURE;
        }
    };
    tell!("{said}");
    // Until it is killed, or whoever has started it is gone.
    let _ = std::io::stdin().lines().next();
    ExitCode::SUCCESS
}

fn answer(file: &Path, answer: Option<&String>) -> Result<String, Failure> {
    let (mut dialogue, state) = match answer {
        None => Resumable::start(&mut (), area, ()),
        Some(answer) => {
            let image = Image::from_bytes(std::fs::read(file)?)?;
            let mut dialogue = Resumable::restore(area, &image, &Options::new())?;
            let state = dialogue.resume(&mut (), answer.clone());
            (dialogue, state)
        }
    };
    let (State::Suspended(said) | State::Complete(said)) = state;
    if !dialogue.is_complete() {
        std::fs::write(file, dialogue.snapshot(Format::Postcard)?.into_bytes())?;
    }
    Ok(said)
}

/// Starts a process for one step, and kills it when it has said something. What it was, and what it said.
fn in_a_process(file: &Path, answer: Option<&str>) -> Result<(u32, String), Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("dialogue")
        .arg(file)
        .args(answer)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut said)?;
    }
    child.kill()?;
    let ended = child.wait()?;
    if said.is_empty() {
        return Err(format!("process {} said nothing and ended with {ended}", child.id()).into());
    }
    Ok((child.id(), said.trim_end().to_owned()))
}

fn dialogue() -> Result<String, String> {
    let file = std::env::temp_dir().join(format!("leno-tour-{}", std::process::id()));
    let steps = [None, Some("6"), Some("tall"), Some("7")];
    let mut said = Vec::new();
    let mut bytes = 0;
    for answer in steps {
        let (process, says) = in_a_process(&file, answer).map_err(|error| error.to_string())?;
        bytes = std::fs::metadata(&file).map_or(0, |data| data.len());
        let given = answer.map_or("is started".to_owned(), |answer| format!("is told '{answer}'"));
        say!("process {process} {given}, says '{says}', and is killed; {bytes} bytes are left");
        said.push(says);
    }
    let _ = std::fs::remove_file(&file);
    expect(
        &said,
        &["how wide?", "how high?", "how high?", "an area of 42"].map(String::from).into(),
    )?;
    Ok(format!("four processes, one coroutine, {bytes} bytes"))
}
