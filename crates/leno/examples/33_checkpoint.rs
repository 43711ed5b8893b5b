//! A long computation that is stored now and then. The process that computes is killed again and again; each
//! time another one goes on from the last checkpoint, and the result is the same.

use std::path::Path;
use std::process::{Command, abort};
use std::{env, fs};

use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};

/// The longest chain of n -> n / 2 or 3 n + 1 that starts below a limit.
#[resumable]
async fn longest_chain(co: &mut Co<u64>, limit: u64) -> (u64, u32) {
    let mut best = (1, 0);
    for start in 1..limit {
        let (mut n, mut steps) = (start, 0u32);
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        if steps > best.1 {
            best = (start, steps);
        }
        if start % 1000 == 0 {
            co.suspend(start).await;
        }
    }
    best
}

type Failure = Box<dyn std::error::Error>;

/// Goes on from the checkpoint, if there is one, and dies after three more; returns the result if it gets
/// there first.
fn compute(file: &Path) -> Result<(u64, u32), Failure> {
    let (mut computing, mut state) = match fs::read(file) {
        Ok(bytes) => {
            let image = Image::from_bytes(bytes)?;
            let mut computing = Resumable::restore(longest_chain, &image, &Options::new())?;
            let state = computing.resume(&mut (), ());
            (computing, state)
        }
        Err(_) => Resumable::start(&mut (), longest_chain, (10_000,)),
    };
    let mut checkpoints = 0;
    loop {
        match state {
            State::Complete(result) => return Ok(result),
            State::Suspended(_) if checkpoints == 3 => abort(),
            State::Suspended(_) => {
                // Written beside and moved into place, so that a kill leaves the old one or the new one.
                let beside = file.with_extension("new");
                fs::write(&beside, computing.snapshot(Format::Postcard)?.into_bytes())?;
                fs::rename(&beside, file)?;
                checkpoints += 1;
                state = computing.resume(&mut (), ());
            }
        }
    }
}

fn main() -> Result<(), Failure> {
    if let Some(file) = env::args().nth(1) {
        let (start, steps) = compute(Path::new(&file))?;
        println!("from {start}: {steps} steps");
        return Ok(());
    }
    let file = env::temp_dir().join(format!("leno-checkpoint-{}", std::process::id()));
    let mut killed = 0;
    while !Command::new(env::current_exe()?).arg(&file).status()?.success() {
        killed += 1;
    }
    println!("killed {killed} times");
    fs::remove_file(file)?;
    Ok(())
}
