//! The programs themselves, as a user starts them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::{LONG, alone};

/// A server that runs; dropping this ends it.
struct Program {
    process: Child,
    address: String,
}

impl Program {
    fn start(path: &str, arguments: &[&str]) -> Program {
        let mut process =
            Command::new(path).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut words = line.split_whitespace();
        let address = words.find(|word| word.contains("127.0.0.1:")).expect("it says where");
        Program { address: address.replace("http://", ""), process }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
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
