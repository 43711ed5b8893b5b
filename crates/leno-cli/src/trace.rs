//! `leno trace`: pictures of what happened, in a log that was written down, or in a small system that is run
//! for it.

mod demo;
mod page;
mod recorded;

use std::process::ExitCode;

use leno::picture;

use self::recorded::Recorded;
use crate::output;

/// What to write, and where.
#[derive(Default)]
struct Wanted {
    html: Option<String>,
    chrome: Option<String>,
    svg: Option<String>,
    /// A log as text.
    recorded: Option<String>,
}

/// Writes what is asked for, of a log or of the demonstration.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let wanted = match read(arguments) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            eprintln!("leno trace: {wrong}\ntry leno help trace");
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
            file if file == "-" || !file.starts_with("--") => {
                if wanted.recorded.replace(file.to_owned()).is_some() {
                    return Err(format!("'{file}' is one file too many"));
                }
                continue;
            }
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
    if wanted.recorded.is_some() && (wanted.chrome.is_some() || wanted.svg.is_some()) {
        return Err("of a log that was written as text there is only a timeline, --html".to_owned());
    }
    Ok(wanted)
}

/// The timeline of a log that a program has written as text.
fn of_a_log(file: &str, html: Option<&String>) -> Result<(), String> {
    let failed = |error| format!("cannot read {file}: {error}");
    let text = match file {
        "-" => std::io::read_to_string(std::io::stdin()).map_err(failed)?,
        _ => std::fs::read_to_string(file).map_err(failed)?,
    };
    let recorded = Recorded::read(&text);
    if recorded.events.is_empty() {
        return Err(format!(
            "{file} has no line of a log, such as: 0.000012 s 'cook' runs\nto write one: \
             std::fs::write(FILE, system.log().to_string())"
        ));
    }
    if recorded.others > 0 {
        eprintln!("{} lines are no events, and left out", recorded.others);
    }
    let beside = format!("{}.html", if file == "-" { "log" } else { file });
    put(html.unwrap_or(&beside), &page::page(&recorded, file))
}

fn write(wanted: &Wanted) -> Result<(), String> {
    if let Some(file) = &wanted.recorded {
        return of_a_log(file, wanted.html.as_ref());
    }
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
pub(crate) fn put(file: &str, picture: &str) -> Result<(), String> {
    if file == "-" {
        output::write(format_args!("{picture}"));
        return Ok(());
    }
    std::fs::write(file, picture).map_err(|error| format!("cannot write {file}: {error}"))?;
    eprintln!("wrote {file} ({} KiB)", picture.len().div_ceil(1024));
    Ok(())
}
