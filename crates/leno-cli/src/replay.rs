//! `leno replay`: runs a schedule again that exploring has found.

use std::process::{Command, ExitCode};

use leno::explore::Explorer;
use leno::kernel::policy::ChoiceLog;
use leno::picture;

use crate::output::tell;
use crate::tour;
use crate::trace::put;

/// What was asked for.
#[derive(Debug)]
struct Wanted {
    token: ChoiceLog,
    html: Option<String>,
    command: Vec<String>,
}

/// Runs the schedule of a token again.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let wanted = match read(arguments) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            eprintln!("leno replay: {wrong}\ntry leno help replay");
            return ExitCode::from(2);
        }
    };
    match wanted.command.split_first() {
        Some((program, rest)) => with_command(&wanted.token, program, rest),
        None => of_the_tour(wanted),
    }
}

fn read(arguments: &[String]) -> Result<Wanted, String> {
    let own = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (mut token, mut html) = (None, None);
    let mut words = arguments[..own].iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--html" => {
                html = Some(
                    words.next().ok_or("--html needs a file, or - for standard output")?.clone(),
                );
            }
            option if option.starts_with("--") => {
                return Err(format!("'{option}' is not an option"));
            }
            text if token.is_none() => {
                let parsed: Result<ChoiceLog, _> = text.parse();
                token = Some(parsed.map_err(|wrong| wrong.to_string())?);
            }
            other => return Err(format!("'{other}' is one token too many")),
        }
    }
    let command: Vec<String> = arguments.iter().skip(own + 1).cloned().collect();
    if own < arguments.len() && command.is_empty() {
        return Err("after -- comes a command, such as cargo test NAME".to_owned());
    }
    let token = token.ok_or("it needs a token, as a failure prints it after LENO_REPLAY=")?;
    Ok(Wanted { token, html, command })
}

/// Another program, whose explorers take the token from their environment.
fn with_command(token: &ChoiceLog, program: &str, arguments: &[String]) -> ExitCode {
    let status =
        Command::new(program).args(arguments).env("LENO_REPLAY", token.to_string()).status();
    match status {
        Ok(status) => {
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
        Err(error) => {
            eprintln!("leno replay: cannot start {program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The program of the tour's stop `explore`.
fn of_the_tour(wanted: Wanted) -> ExitCode {
    match Explorer::new().replay(wanted.token).run(tour::lossy) {
        Ok(_) => {
            tell!("under this schedule the program of 'leno tour --only explore' is right");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            tell!("{failure}");
            let html = wanted
                .html
                .map(|file| put(&file, &picture::timeline(failure.log(), &picture::Names::new())));
            if let Some(Err(wrong)) = html {
                eprintln!("leno replay: {wrong}");
            }
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_token_and_a_command_are_read() {
        let wanted = read(&words("P2P3X2 -- cargo test --lib")).unwrap();
        assert_eq!((wanted.token.to_string().as_str(), wanted.command.len()), ("P2P3X2", 3));
        assert!(read(&words("--html x")).unwrap_err().contains("needs a token"));
        assert!(read(&words("P2 P3")).unwrap_err().contains("one token too many"));
        assert!(read(&words("P2 --")).unwrap_err().contains("after -- comes a command"));
        assert!(read(&words("?!")).is_err());
    }
}
