//! What each command says of itself, in the manner of a manual page.

use std::process::ExitCode;

use crate::output;

const WHOLE: &str = "\
NAME
    leno - coroutines for Rust: tour, benches, pictures

USAGE
    leno [tour] [OPTIONS]        a guided, checked run through what leno does
    leno bench [OPTIONS]         leno beside its peers, measured in one run
    leno trace [FILE] [OPTIONS]  pictures of what happened in a system
    leno replay TOKEN [OPTIONS]  a schedule that exploring has found, once more
    leno sessions COMMAND        dialogues that outlive their process
    leno completions SHELL       for bash, zsh or fish
    leno help [COMMAND]          this text, or what COMMAND says of itself

EXAMPLES
    leno                          the whole tour, in less than a minute
    leno tour --only million      one stop of it
    leno trace --html run.html    a timeline of a small pipeline, for a browser
    leno bench --quick --html bench.html
                                  all benches, roughly, as one page with plots

EXIT STATUS
    0    all went well
    1    something did not: a stop of the tour failed, a file was not written
    2    the command line was wrong; the message says what to do instead
    141  nobody reads what it prints any more, as in leno tour | head
";

const TOUR: &str = "\
NAME
    leno tour - shows what leno does, live, and checks each result

USAGE
    leno tour [--list] [--only NAME]... [--json]

OPTIONS
    --list        names of the stops, and what each shows
    --only NAME   this stop; may be given several times
    --json        one JSON object instead of text: what each stop said, its
                  result and its time
    --help        this text

EXAMPLES
    leno tour --list
    leno tour --only santa --only philosophers
    leno tour --json | jq '.stops[] | select(.ok | not)'

NOTES
    Stop 'million' makes a million coroutines where memory and mappings allow
    it, else fewer, and says why.
    Stop 'dialogue' starts this command anew, four times, and kills it.
    Colours and progress are shown on a terminal only; NO_COLOR turns colours
    off.

EXIT STATUS
    0  every stop found its own result right
    1  one did not
    2  the command line was wrong
";

const TRACE: &str = "\
NAME
    leno trace - pictures of what happened

USAGE
    leno trace FILE [--html PAGE]
    leno trace [--html FILE] [--chrome FILE] [--svg FILE]

DESCRIPTION
    With FILE: a log that a program of yours has written as text becomes a
    timeline, FILE.html or PAGE. Other lines in it are left out. FILE may be -
    for standard input.
    Without: runs a small pipeline on two cores, and shows what happened there.

OPTIONS
    --html FILE     a timeline to open in a browser; one file, no network needed
    --chrome FILE   a trace for ui.perfetto.dev or chrome://tracing
    --svg FILE      who waits for what, in a second system that is stuck
    --help          this text
    FILE may be - for standard output, once. Without options the log is printed
    as text.

EXAMPLES
    leno trace > run.log && leno trace run.log
    leno trace --html run.html --svg stuck.svg
    In a program:
        let system = LocalSystem::builder().log(10_000).build();
        ..
        std::fs::write(\"run.log\", system.log().to_string())?;
";

const REPLAY: &str = "\
NAME
    leno replay - runs a schedule again that exploring has found

USAGE
    leno replay TOKEN [--html FILE]
    leno replay TOKEN -- COMMAND...

DESCRIPTION
    A failure under exploration ends with a line LENO_REPLAY=TOKEN. With a
    command, that is run with the token in its environment, so that its
    explorers run this one schedule; without, it is the program of the tour's
    stop 'explore', two threads that lose an addition.

OPTIONS
    --html FILE   a timeline of what happened
    --help        this text

EXAMPLES
    leno tour --only explore              shows a token
    leno replay P2P3X2P2P2.1P2            that schedule of the tour's program
    leno replay P2P3X2P2P2.1P2 -- cargo test my_test
                                          that schedule of your own test

EXIT STATUS
    That of the command; or 1 if the program failed, as the token promised, and
    0 if it did not.
";

const COMPLETIONS: &str = "\
NAME
    leno completions - what shells need to complete leno's words

USAGE
    leno completions bash|zsh|fish

EXAMPLES
    leno completions bash > ~/.local/share/bash-completion/completions/leno
    leno completions fish > ~/.config/fish/completions/leno.fish
    source <(leno completions zsh)
";

/// What a command says of itself.
pub(crate) fn of(command: &str) -> Option<String> {
    let text = match command {
        "" => WHOLE,
        "tour" => TOUR,
        "trace" => TRACE,
        "replay" => REPLAY,
        "sessions" => crate::sessions::HELP,
        "completions" => COMPLETIONS,
        "bench" => return Some(crate::bench::help()),
        _ => return None,
    };
    Some(text.to_owned())
}

/// `leno help [COMMAND]`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let command = arguments.first().map_or("", String::as_str);
    match of(command) {
        Some(text) => {
            output::write(format_args!("{text}"));
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("leno help: there is no command '{command}'\n\n{WHOLE}");
            ExitCode::from(2)
        }
    }
}

/// Whether help is asked for among these arguments; if so, it was given.
pub(crate) fn given(command: &str, arguments: &[String]) -> bool {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    let is_asked = own.clone().any(|argument| argument == "--help" || argument == "-h");
    if is_asked {
        output::write(format_args!("{}", of(command).unwrap_or_default()));
    }
    is_asked
}
