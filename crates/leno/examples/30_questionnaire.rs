//! A dialogue that lives in a file: every answer is a new process, which restores the coroutine, hands it
//! the answer, and stores it again (Stadler 2011, section 5.2): `run FILE [ANSWER]` is that process.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};

type Dialogue = Co<String, String>;
type Failure = Box<dyn std::error::Error>;

#[resumable]
async fn read_string(co: &mut Dialogue, message: String) -> String {
    co.suspend(message).await
}

#[resumable]
async fn read_number(co: &mut Dialogue, mut message: String) -> i32 {
    let mut tries = 0;
    loop {
        if let Ok(number) = read_string(co, message.clone()).await.parse() {
            return number;
        }
        if tries == 0 {
            message += "\nPlease enter a valid number!";
        }
        tries += 1;
    }
}

#[resumable]
pub(crate) async fn interaction(co: &mut Dialogue) -> String {
    let name = read_string(co, "Please enter your name:".into()).await;
    let country = read_string(co, "Please enter your country:".into()).await;
    let age = read_number(co, "Please enter your age:".into()).await;
    let contact = if age < 70 {
        "Email: ".to_owned() + &read_string(co, "Please enter your email address:".into()).await
    } else {
        "Telephone: ".to_owned()
            + &read_string(co, "Please enter your telephone number:".into()).await
    };
    format!("Name: {name}, Country: {country}, Age: {age}, {contact}")
}

/// One process: gives the answer to the dialogue, if there is one, and says what it says to it.
fn run(file: &Path, answer: Option<String>) -> Result<(), Failure> {
    let (mut dialogue, state) = match answer {
        None => Resumable::start(&mut (), interaction, ()),
        Some(answer) => {
            let image = Image::from_bytes(fs::read(file)?)?;
            let mut dialogue = Resumable::restore(interaction, &image, &Options::new())?;
            let state = dialogue.resume(&mut (), answer);
            (dialogue, state)
        }
    };
    let (State::Suspended(text) | State::Complete(text)) = state;
    println!("{text}");
    if dialogue.is_complete() {
        return Ok(fs::remove_file(file)?);
    }
    Ok(fs::write(file, dialogue.snapshot(Format::Postcard)?.into_bytes())?)
}

fn main() -> Result<(), Failure> {
    let mut args = env::args().skip(1);
    if let (Some("run"), Some(file)) = (args.next().as_deref(), args.next()) {
        return run(Path::new(&file), args.next());
    }
    let file = env::temp_dir().join(format!("leno-questionnaire-{}", std::process::id()));
    let answers = ["John Doe", "Genovia", "twenty-eight", "28", "nospam@nospam.at"];
    for answer in [None].into_iter().chain(answers.map(Some)) {
        println!("> questions {}", answer.unwrap_or_default());
        Command::new(env::current_exe()?).arg("run").arg(&file).args(answer).status()?;
        println!();
    }
    println!("the state file is gone: {}", !file.exists());
    Ok(())
}
