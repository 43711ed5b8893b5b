//! A dialogue in a store: the process that asked is killed, and another one hears the answer. Each line below is a new
//! process; `run FILE ID [ANSWER]` is that process, and it never ends by itself.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::{env, fs};

use leno_frame::{Co, resumable};
use leno_session::{SessionId, Sessions, Sqlite, State};

type Failure = Box<dyn std::error::Error>;

#[resumable]
async fn number(co: &mut Co<String, String>, question: String) -> u32 {
    loop {
        if let Ok(number) = co.suspend(question.clone()).await.parse() {
            return number;
        }
    }
}

#[resumable]
async fn area(co: &mut Co<String, String>) -> String {
    let width = number(co, "How wide is it?".into()).await;
    let height = number(co, "How high is it?".into()).await;
    format!("That makes {}.", width * height)
}

/// Starts the session if there is none, answers if there is an answer, says what it says, and waits to be killed.
fn run(file: &str, id: &str, answer: Option<String>) -> Result<(), Failure> {
    let sessions = Sessions::open(Sqlite::open(file)?).register("area", area);
    let id = SessionId::named(id);
    sessions.start_as(id, "area", &())?;
    if let Some(answer) = answer {
        sessions.answer(id, &answer)?;
    }
    let row = sessions.run(id)?;
    println!("{} ({})", row.text(), if row.state == State::Done { "done" } else { "waiting" });
    loop {
        std::thread::park();
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [run_it, file, id, ..] = &arguments[..] {
        assert_eq!(run_it, "run");
        return run(file, id, arguments.get(3).cloned());
    }
    let folder = env::temp_dir().join(format!("leno-session-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    for answer in [None, Some("six"), Some("6"), Some("7")] {
        let mut command = Command::new(env::current_exe()?);
        command.arg("run").arg(folder.join("store")).arg("garden").args(answer);
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        process.kill()?;
        process.wait()?;
        println!("> {}\n{line}(killed)", answer.unwrap_or_default());
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}
