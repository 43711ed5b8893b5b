//! Built with `panic = "abort"` nothing can be unwound: a suspended coroutine that is dropped is
//! leaked and the program goes on, but a scope that would be left with one aborts with a message.
//! A small package is built and run for it, offline.
#![cfg(not(any(leno_baton, leno_asan, leno_tsan)))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Child, OnDrop};

const PROGRAM: &str = r#"
use leno_coroutine::{Builder, Coroutine, Step, Suspender, ring, scope};

struct Loud(&'static str);
impl Drop for Loud {
    fn drop(&mut self) {
        println!("dropped {}", self.0);
    }
}

fn suspending(co: &Suspender<(), ()>, (): ()) {
    let _loud = Loud("inside");
    co.suspend(());
}

fn main() {
    let case = std::env::args().nth(1).expect("a case");
    match case.as_str() {
        "drop" => {
            let dropped = Coroutine::new(suspending);
            dropped.resume(());
            drop(dropped);
            let captured = Loud("captured");
            drop(Coroutine::new(move |_: &Suspender<(), ()>, ()| drop(captured)));
            let finished = Coroutine::new(suspending);
            finished.resume(());
            assert_eq!(finished.resume(()), Step::Finished(()));
            ring::spawn(ring::yield_now);
            ring::yield_now();
            println!("drained {:?}", ring::drain());
        }
        "scope" => scope(|s| {
            let child = s.coroutine_with(Builder::new().name("child"), suspending);
            let child = child.expect("there is memory");
            child.resume(());
            println!("leaving");
            std::mem::forget(child);
        }),
        "handle" => scope(|s| {
            let child = s.coroutine_with(Builder::new().name("child"), suspending);
            child.expect("there is memory").resume(());
            println!("leaving");
        }),
        "ring" => ring::scope(|s| {
            s.spawn_with(Builder::new().name("member"), ring::yield_now).expect("there is memory");
            ring::yield_now();
            println!("leaving");
        }),
        "finished" => scope(|s| {
            let child = s.coroutine(suspending);
            child.resume(());
            child.resume(());
        }),
        _ => unreachable!("an unknown case"),
    }
    println!("went on");
}
"#;

/// Builds the program; `None` where there is no cargo.
fn build(folder: &Path) -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if Command::new(&cargo).arg("--version").output().is_err() {
        println!("skipped: there is no cargo to build with");
        return None;
    }
    let crate_folder = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"aborting\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nleno-coroutine = {{ path = {crate_folder:?} }}\n\n\
         [profile.dev]\npanic = \"abort\"\n\n[workspace]\n"
    );
    fs::create_dir_all(folder.join("src")).expect("a folder for the package");
    fs::write(folder.join("Cargo.toml"), manifest).expect("its manifest");
    fs::write(folder.join("src/main.rs"), PROGRAM).expect("its source");
    // The same versions as here, so that nothing has to be looked up.
    let lock = Path::new(crate_folder).join("../../Cargo.lock");
    if lock.exists() {
        fs::copy(lock, folder.join("Cargo.lock")).expect("its lock file");
    }
    let mut command = Command::new(cargo);
    command.args(["build", "--offline", "--quiet"]).current_dir(folder);
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    let built = Child::from(command.output().expect("cargo starts"));
    assert_eq!(built.code, Some(0), "{built:#?}");
    Some(folder.join("target/debug/aborting"))
}

fn run(program: &Path, case: &str) -> Child {
    Command::new(program).arg(case).output().expect("the program starts").into()
}

#[test]
#[cfg_attr(miri, ignore = "spawns processes")]
fn without_unwinding_drop_leaks_and_a_scope_aborts() {
    let name = format!("leno-panic-abort-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _remove = OnDrop(|| drop(fs::remove_dir_all(&folder)));
    let Some(program) = build(&folder) else { return };

    let dropped = run(&program, "drop");
    assert_eq!(dropped.code, Some(0), "{dropped:#?}");
    assert_eq!(
        dropped.stdout,
        "dropped captured\ndropped inside\ndrained Ok(Drained { ended: 0, leaked: 1 })\nwent on\n",
        "the dropped one's destructor did not run, that of the finished one did"
    );
    let finished = run(&program, "finished");
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "dropped inside\nwent on\n"));

    for case in ["scope", "handle"] {
        let left = run(&program, case);
        left.aborted().said("leno: a scope ended while its coroutine 'child' (created at ");
        left.said(
            "was suspended: with panic = \"abort\" it cannot be unwound; let it finish first",
        );
        assert_eq!(left.stdout, "leaving\n", "{case}");
    }
    let ring = run(&program, "ring");
    ring.aborted().said("leno: a ring's scope ended while its member 'member' (created at ");
    ring.said("with panic = \"abort\" it cannot be unwound; let it finish first");
    assert_eq!(ring.stdout, "leaving\n");
}
