//! `leno sessions`: dialogues that outlive their process, on the terminal and as a page.

mod limit;
mod meant;
mod page;
mod questionnaire;
mod server;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use leno::session::{Query, Row, SessionError, Sessions, State, store};

use self::meant::Meant;
use crate::output::{self, tell};

pub(crate) const HELP: &str = "\
NAME
    leno sessions - dialogues that outlive their process

USAGE
    leno sessions [--store ADDRESS] COMMAND

COMMANDS
    start             begins a questionnaire; prints its id and first question
    answer ID TEXT    answers, and prints what it says then
    list [STATE]      all sessions, or those in a state: waiting, done, failed,
                      quarantined ..
    show ID           all there is of one, as JSON
    retry ID          lets one that failed or was quarantined try again
    cancel ID         ends one
    expire DAYS       ends those that nobody has touched for so long, deletes
                      what ended before
    serve [--listen ADDRESS]
                      the same questionnaire as a page, at 127.0.0.1:8087
                      unless said otherwise

    Of an ID the first few digits will do, as long as they mean one session.

OPTIONS
    --store ADDRESS   a file, leno-sessions.db unless this or LENO_SESSIONS says
                      otherwise; built with the feature postgres also
                      postgres://user@host/database
    --help            this text

EXAMPLES
    leno sessions start
    leno sessions answer ID \"John Doe\"    where ID is what start has said
    leno sessions serve --listen 127.0.0.1:8087

NOTES
    Processes may share a store, and be killed at any moment: a step has
    happened as a whole, or not.
    Whoever knows an id can answer and read that dialogue. The page has neither
    passwords nor encryption: let others reach it only through a server that
    has both.
";

type Failure = Box<dyn std::error::Error>;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Start,
    Answer(Meant, String),
    List(Option<State>),
    Show(Meant),
    Retry(Meant),
    Cancel(Meant),
    Expire(u32),
    Serve(SocketAddr),
}

/// Runs a command.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        output::write(format_args!("{HELP}"));
        return ExitCode::SUCCESS;
    }
    let (address, command) = match read(arguments) {
        Ok(read) => read,
        Err(wrong) => {
            eprintln!("leno sessions: {wrong}\nleno sessions --help says what there is");
            return ExitCode::from(2);
        }
    };
    match open(&address).and_then(|sessions| execute(&sessions, command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("leno sessions: {wrong}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[String]) -> Result<(String, Command), String> {
    let mut address = std::env::var("LENO_SESSIONS").unwrap_or_else(|_| "leno-sessions.db".into());
    let mut listen = None;
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs an address"));
        match argument.as_str() {
            "--store" => address.clone_from(value()?),
            "--listen" => {
                let text = value()?;
                let parsed = text.parse::<SocketAddr>();
                listen =
                    Some(parsed.map_err(|_| {
                        format!("`{text}` is not an address such as 127.0.0.1:8087")
                    })?);
            }
            _ => words.push(argument.as_str()),
        }
    }
    let command = match words[..] {
        ["start"] => Command::Start,
        ["answer", session, text] => Command::Answer(session.parse()?, text.into()),
        ["list"] => Command::List(None),
        ["list", state] => Command::List(Some(State::parse(state).ok_or_else(|| {
            let all = State::ALL.map(|state| state.to_string()).join(", ");
            format!("there is no state `{state}`; there are {all}")
        })?)),
        ["show", session] => Command::Show(session.parse()?),
        ["retry", session] => Command::Retry(session.parse()?),
        ["cancel", session] => Command::Cancel(session.parse()?),
        ["expire", days] => {
            Command::Expire(days.parse().map_err(|_| format!("`{days}` is no number of days"))?)
        }
        ["serve"] => Command::Serve(listen.take().unwrap_or(([127, 0, 0, 1], 8087).into())),
        [] => return Err("what shall be done?".into()),
        ["answer", ..] => {
            return Err("answer needs an id and a text, in quotes if it has blanks".into());
        }
        [other, ..] => return Err(format!("there is no command `{other}` with these arguments")),
    };
    match listen {
        Some(_) => Err("--listen is for serve".into()),
        None => Ok((address, command)),
    }
}

fn open(address: &str) -> Result<Sessions, Failure> {
    // What is empty cannot be quoted.
    let at = if address.is_empty() { "--store" } else { address };
    let store = store::open(address).map_err(|error| format!("{at}: {error}"))?;
    Ok(Sessions::open_shared(store).register(questionnaire::NAME, questionnaire::interaction))
}

fn execute(sessions: &Sessions, command: Command) -> Result<(), Failure> {
    match command {
        Command::Start => {
            let id = sessions.start(questionnaire::NAME, &())?;
            tell!("{id}");
            say(&sessions.run(id)?)
        }
        Command::Answer(meant, text) => {
            let id = meant.id(sessions)?;
            sessions.answer(id, questionnaire::check(&text)?)?;
            say(&sessions.run(id)?)
        }
        Command::List(state) => {
            for row in sessions.list(&Query { state, ..Query::default() })? {
                let text = row.text();
                let text = if row.reason.is_empty() { text } else { row.reason };
                let line: String = text.replace(char::is_control, " ").chars().take(60).collect();
                tell!("{}  {:9} {:3}  {line}", row.id, row.state.to_string(), row.sequence);
            }
            Ok(())
        }
        Command::Show(meant) => {
            tell!("{:#}", sessions.inspect(meant.id(sessions)?)?);
            Ok(())
        }
        Command::Retry(meant) => {
            let id = meant.id(sessions)?;
            sessions.retry(id)?;
            say(&sessions.run(id)?)
        }
        Command::Cancel(meant) => Ok(sessions.cancel(meant.id(sessions)?, "by the user")?),
        Command::Expire(days) => {
            let age = Duration::from_secs(u64::from(days) * 24 * 3600);
            tell!("{} expired, {} deleted", sessions.expire(age)?, sessions.forget(age)?);
            Ok(())
        }
        Command::Serve(address) => server::serve(sessions.clone(), address),
    }
}

/// What a session says to the one who waits for it.
fn say(row: &Row) -> Result<(), Failure> {
    match row.state {
        State::Failed | State::Quarantined => {
            Err(format!("session {} is {}: {}", row.id, row.state, row.reason).into())
        }
        State::Cancelled | State::Expired => Err(SessionError::Ended(row.id, row.state).into()),
        _ => {
            tell!("{}", row.text());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, read};

    fn command(words: &[&str]) -> Result<Command, String> {
        read(&words.iter().map(ToString::to_string).collect::<Vec<_>>()).map(|(_, command)| command)
    }

    #[test]
    fn commands_are_understood_or_explained() {
        assert_eq!(command(&["start"]), Ok(Command::Start));
        assert!(
            matches!(command(&["serve"]), Ok(Command::Serve(address)) if address.ip().is_loopback())
        );
        let wrong = [
            (&[][..], "what shall be done?"),
            (&["answer", "12"], "answer needs an id and a text, in quotes if it has blanks"),
            (
                &["show", "12x"],
                "`12x` is no id of a session: those have 32 hexadecimal digits, of which the first few will do",
            ),
            (
                &["list", "asleep"],
                "there is no state `asleep`; there are ready, leased, waiting, sleeping, done, failed, quarantined, \
                 cancelled, expired",
            ),
            (&["start", "--listen", "127.0.0.1:1"], "--listen is for serve"),
            (&["serve", "--listen", "home"], "`home` is not an address such as 127.0.0.1:8087"),
            (&["dance"], "there is no command `dance` with these arguments"),
        ];
        for (words, message) in wrong {
            assert_eq!(command(words), Err(message.to_owned()));
        }
    }
}
