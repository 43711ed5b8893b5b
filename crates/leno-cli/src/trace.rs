//! `leno trace`: runs a small system with a log, and writes pictures of what happened.

mod demo;

use std::io::Write;
use std::process::ExitCode;

use leno::picture;

const HELP: &str = "\
leno trace: runs a small pipeline on two cores and shows what happened

usage: leno trace [--html FILE] [--chrome FILE] [--svg FILE]

  --html FILE     a timeline to open in a browser; one file, no network needed
  --chrome FILE   a trace for ui.perfetto.dev or chrome://tracing
  --svg FILE      who waits for what, in a second system that is stuck
  --help          this text

FILE may be - for standard output, once. Without options the log is printed as text.
";

/// What to write, and where.
#[derive(Default)]
struct Wanted {
    html: Option<String>,
    chrome: Option<String>,
    svg: Option<String>,
}

/// Runs the demonstration and writes what is asked for.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let wanted = match read(arguments) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            eprintln!("leno trace: {wrong}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match write(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("leno trace: {wrong}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let file = match option.as_str() {
            "--html" => &mut wanted.html,
            "--chrome" => &mut wanted.chrome,
            "--svg" => &mut wanted.svg,
            other => return Err(format!("'{other}' is not an option")),
        };
        let given = arguments.next().filter(|given| !given.starts_with("--"));
        let given =
            given.ok_or_else(|| format!("{option} needs a file, or - for standard output"))?;
        if file.replace(given.clone()).is_some() {
            return Err(format!("{option} is given twice"));
        }
    }
    let files = [&wanted.html, &wanted.chrome, &wanted.svg];
    if files.into_iter().flatten().filter(|file| *file == "-").count() > 1 {
        return Err("only one picture can go to standard output".to_owned());
    }
    Ok(wanted)
}

fn write(wanted: &Wanted) -> Result<(), String> {
    let is_log_wanted = wanted.html.is_some() || wanted.chrome.is_some() || wanted.svg.is_none();
    if is_log_wanted {
        let (log, names) = demo::pipeline()?;
        if let Some(file) = &wanted.html {
            put(file, &picture::timeline(&log, &names))?;
        }
        if let Some(file) = &wanted.chrome {
            put(file, &picture::chrome(&log, &names))?;
        }
        if wanted.html.is_none() && wanted.chrome.is_none() {
            put("-", &log.to_string())?;
        }
    }
    if let Some(file) = &wanted.svg {
        put(file, &picture::waits(&demo::stuck()?, &picture::Names::new()))?;
    }
    Ok(())
}

/// Writes a picture to a file, or to standard output.
fn put(file: &str, picture: &str) -> Result<(), String> {
    if file == "-" {
        let written = std::io::stdout().write_all(picture.as_bytes());
        return written.map_err(|error| format!("cannot write to standard output: {error}"));
    }
    std::fs::write(file, picture).map_err(|error| format!("cannot write {file}: {error}"))?;
    eprintln!("wrote {file} ({} KiB)", picture.len().div_ceil(1024));
    Ok(())
}
