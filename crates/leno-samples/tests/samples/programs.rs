//! The programs themselves, as a user starts them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::{LONG, alone};

/// A server that runs, until it is ended or this is dropped.
struct Program {
    process: Child,
    /// What it says, as long as somebody reads it.
    said: Option<BufReader<ChildStdout>>,
    address: String,
}

impl Program {
    fn start(path: &str, arguments: &[&str]) -> Program {
        Program::start_with(path, arguments, Stdio::null())
    }

    fn start_with(path: &str, arguments: &[&str], stderr: Stdio) -> Program {
        let mut process = Command::new(path)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let mut words = line.split_whitespace();
        let address = words.find(|word| word.contains("127.0.0.1:")).expect("it says where");
        Program { address: address.replace("http://", ""), said: Some(said), process }
    }

    /// Tells it to end, politely; what else it has said.
    fn end(mut self) -> String {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
        let mut rest = String::new();
        if let Some(mut said) = self.said.take() {
            said.read_to_string(&mut rest).unwrap();
        }
        rest
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _has_ended = self.process.kill();
        let _has_ended = self.process.wait();
    }
}

#[track_caller]
fn converses(program: &Program, says: &[u8], hears: &[u8]) {
    let mut stream = program.connect();
    stream.write_all(says).unwrap();
    let mut heard = vec![0; hears.len()];
    stream.read_exact(&mut heard).unwrap();
    assert_eq!(heard, hears, "{}", String::from_utf8_lossy(&heard));
}

#[test]
fn servers_serve() {
    let _alone = alone();
    const ANYWHERE: &str = "127.0.0.1:0";
    let echo = Program::start(env!("CARGO_BIN_EXE_echo"), &[ANYWHERE]);
    converses(&echo, b"hello", b"hello");
    let chat = Program::start(env!("CARGO_BIN_EXE_chat"), &[ANYWHERE]);
    converses(&chat, b"ann\n", b"your name?\n");
    let http = Program::start(env!("CARGO_BIN_EXE_http"), &[ANYWHERE]);
    let ask = b"POST /upper HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello";
    converses(&http, ask, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n");
    let proxy = Program::start(env!("CARGO_BIN_EXE_proxy"), &[ANYWHERE, &http.address]);
    converses(&proxy, ask, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n");
    // One is there, says nothing, and is sent away.
    let mut idle = http.connect();
    for program in [echo, chat, proxy, http] {
        program.end();
    }
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
}

#[test]
fn servers_go_on_if_nobody_reads_what_they_say() {
    let _alone = alone();
    let start = |path: &str, arguments: &[&str]| {
        let mut program = Program::start_with(path, arguments, Stdio::piped());
        program.said = None;
        program
    };
    let echo = start(env!("CARGO_BIN_EXE_echo"), &["127.0.0.1:0"]);
    let proxy = start(env!("CARGO_BIN_EXE_proxy"), &["127.0.0.1:0", &echo.address]);
    for _ in 0..2 {
        converses(&proxy, b"hello", b"hello");
    }
    for mut program in [proxy, echo] {
        let mut stderr = program.process.stderr.take().unwrap();
        program.end();
        let mut complaints = String::new();
        stderr.read_to_string(&mut complaints).unwrap();
        assert_eq!(complaints, "SIGTERM: ending\n");
    }
}

#[test]
fn the_downloader_downloads() {
    let _alone = alone();
    let folder = std::env::temp_dir().join(format!("leno-download-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let http = Program::start(env!("CARGO_BIN_EXE_http"), &["127.0.0.1:0"]);
    let download = || {
        let urls = [format!("http://{}", http.address), format!("http://{}/none", http.address)];
        let mut program = Command::new(env!("CARGO_BIN_EXE_download"));
        let output = program.args(urls).current_dir(&folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(download(), "/: 6 bytes\n/none: /none: status 404\n");
    assert_eq!(std::fs::read_to_string(folder.join("index.html")).unwrap(), "hello\n");
    // What is there is left alone.
    assert!(download().contains("File exists"));
    http.end();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_downloader_shows_itself() {
    let _alone = alone();
    let output = Command::new(env!("CARGO_BIN_EXE_download")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let expected: Vec<_> = (1..=12).map(|n| format!("/{0}: {0} bytes\n", n * 100_000)).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected.concat());
    let bar = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(bar.contains("7.4 of 7.4 MiB, 12 of 12 done"), "{bar}");
}
