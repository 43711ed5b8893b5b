//! `leno completions`: what shells need to complete the command's words.
//!
//! They ask the command itself for names of stops and benches, so that these are never out of date.

use std::process::ExitCode;

/// Commands and what each can be given.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("tour", &["--list", "--only", "--json", "--help"]),
    (
        "bench",
        &[
            "--quick", "--only", "--peers", "--list", "--json", "--svg", "--html", "--rows",
            "--help",
        ],
    ),
    ("trace", &["--html", "--chrome", "--svg", "--help"]),
    ("replay", &["--html", "--help"]),
    (
        "sessions",
        &[
            "start", "answer", "list", "show", "retry", "cancel", "expire", "serve", "--store",
            "--listen", "--help",
        ],
    ),
    ("completions", &["bash", "zsh", "fish"]),
    ("help", &["tour", "bench", "trace", "replay", "sessions", "completions"]),
];

/// Prints the completions of a shell.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let text = match arguments {
        [shell] if shell == "bash" => bash(),
        [shell] if shell == "zsh" => {
            format!("#compdef leno\nautoload -U +X bashcompinit && bashcompinit\n{}", bash())
        }
        [shell] if shell == "fish" => fish(),
        [other] => {
            eprintln!("leno completions: '{other}' is no shell it knows: bash, zsh or fish");
            return ExitCode::from(2);
        }
        _ => {
            eprintln!("leno completions: say for which shell: bash, zsh or fish");
            return ExitCode::from(2);
        }
    };
    crate::output::write(format_args!("{text}"));
    ExitCode::SUCCESS
}

fn names() -> String {
    COMMANDS.map(|(name, _)| name).join(" ")
}

fn bash() -> String {
    let mut cases = String::new();
    for (name, options) in COMMANDS {
        cases += &format!("        {name}) words=\"{}\" ;;\n", options.join(" "));
    }
    format!(
        "_leno() {{\n    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=\n    \
         case ${{COMP_WORDS[1]}} in\n{cases}    esac\n    \
         if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"{}\"\n    \
         elif [ \"$before\" = --only ] && [ \"${{COMP_WORDS[1]}}\" = tour ]; then\n        \
         words=$(leno tour --list | cut -d' ' -f1)\n    \
         elif [[ $before = --html || $before = --svg || $before = --chrome || $before = --json || $before = --rows ]]; then\n        \
         COMPREPLY=($(compgen -f -- \"$word\")); return\n    fi\n    \
         COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\ncomplete -F _leno leno\n",
        names()
    )
}

fn fish() -> String {
    let mut text = format!("complete -c leno -n __fish_use_subcommand -f -a '{}'\n", names());
    for (name, options) in COMMANDS {
        let given = format!("complete -c leno -n '__fish_seen_subcommand_from {name}'");
        for option in options {
            match option.strip_prefix("--") {
                Some(long) => text += &format!("{given} -l {long}\n"),
                None => text += &format!("{given} -f -a {option}\n"),
            }
        }
    }
    text + "complete -c leno -n '__fish_seen_subcommand_from tour' -l only -x -a '(leno tour --list | string match -r \"^[^ ]+\")'\n"
}
