//! Runs hostile programs; see this crate's README.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use leno_hostile::{child, parent, program::Program};

fn main() -> ExitCode {
    if let Ok(what) = std::env::var(child::VARIABLE) {
        child::main(&what);
        return ExitCode::SUCCESS;
    }
    if let Ok(spec) = std::env::var("LENO_HOSTILE_REPLAY") {
        let Some(program) = Program::parse(&spec) else {
            eprintln!("not a program: {spec}");
            return ExitCode::FAILURE;
        };
        print!("{program}");
        let ended = parent::run(&spec, parent::How::from_env());
        return match ended.failure {
            Some(failure) => {
                print!("{failure}");
                ExitCode::FAILURE
            }
            None => {
                println!("it ends as it should, after {} operations", ended.done.0);
                ExitCode::SUCCESS
            }
        };
    }
    if parent::main() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
