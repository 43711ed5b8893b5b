use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;

use leno::io::net::TcpStream;
use leno::io::time::sleep;
use leno::kernel::{JoinHandle, spawn_local};
use leno_samples::chat::{Limits, chat};
use leno_samples::serve::{Stop, stop};

use crate::support::{LONG, MS, connect, leaves_nothing, listener, reset};

fn patient() -> Limits {
    Limits { entry: LONG, stall: LONG, ..Limits::default() }
}

struct Server {
    address: SocketAddr,
    stop: Stop,
    ended: JoinHandle<bool>,
}

impl Server {
    fn new(limits: Limits) -> Server {
        let (listener, address) = listener();
        let (stop, stopped) = stop();
        Server { address, stop, ended: spawn_local(move || chat(listener, &stopped, &limits)) }
    }
}

struct Member(BufReader<TcpStream>);

impl Member {
    fn new(address: SocketAddr, name: &str) -> Member {
        let mut member = Member(BufReader::new(connect(address)));
        assert_eq!(member.hears(), "your name?\n");
        member.says(name);
        member
    }

    fn says(&mut self, text: &str) {
        writeln!(self.0.get_mut(), "{text}").unwrap();
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn everybody_hears_everybody_else_in_one_order() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let mut ann = Member::new(server.address, "ann");
        let mut bob = Member::new(server.address, "bob");
        assert_eq!(ann.hears(), "* bob is here\n");
        let mut other = Member::new(server.address, "bob");
        assert_eq!(other.hears(), "your name?\n");
        other.says("cy");
        assert_eq!(ann.hears(), "* cy is here\n");
        assert_eq!(bob.hears(), "* cy is here\n");
        ann.says("hello");
        assert_eq!(bob.hears(), "ann: hello\n");
        assert_eq!(other.hears(), "ann: hello\n");
        for n in 0..50 {
            ann.says(&format!("a{n}"));
            bob.says(&format!("b{n}"));
        }
        let heard: Vec<_> = (0..100).map(|_| other.hears()).collect();
        for name in ["ann: a", "bob: b"] {
            let own: Vec<_> = heard.iter().filter_map(|line| line.strip_prefix(name)).collect();
            let expected: Vec<_> = (0..50).map(|n| format!("{n}\n")).collect();
            assert_eq!(own, expected);
        }
        reset(other.0.into_inner());
        let told = std::iter::repeat_with(|| ann.hears()).find(|line| line.starts_with('*'));
        assert_eq!(told.unwrap(), "* cy has left\n");
        // Everybody is shown the door.
        drop(server.stop);
        for mut member in [ann, bob] {
            let mut rest = String::new();
            member.0.read_to_string(&mut rest).unwrap();
            assert!(rest.ends_with("* good bye\n"), "{rest}");
        }
        assert!(server.ended.join().unwrap());
    });
}

#[test]
fn the_nameless_are_sent_away_however_slowly_they_spell() {
    leaves_nothing(|| {
        let server = Server::new(Limits { entry: 50 * MS, ..patient() });
        let nameless = connect(server.address);
        let mut reads = nameless.try_clone().unwrap();
        let spells = spawn_local(move || {
            while (&nameless).write_all(b"x").is_ok() {
                sleep(5 * MS);
            }
        });
        let mut text = String::new();
        let _reset = reads.read_to_string(&mut text);
        assert_eq!(text, "your name?\n");
        spells.join().unwrap();
        drop((reads, server.stop));
        assert!(server.ended.join().unwrap());
    });
}

#[test]
fn control_characters_are_not_relayed() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let mut ann = Member::new(server.address, "ann");
        let mut bob = Member::new(server.address, "b\x1b[31mob");
        assert_eq!(ann.hears(), "* b\u{fffd}[31mob is here\n");
        bob.says("\x1b]0;title\x07 \u{9b}2J\rone\ttwo\0");
        let heard = "b\u{fffd}[31mob: \u{fffd}]0;title\u{fffd} \u{fffd}2J\u{fffd}one two\u{fffd}\n";
        assert_eq!(ann.hears(), heard);
        drop((ann, bob, server.stop));
        assert!(server.ended.join().unwrap());
    });
}

#[test]
fn the_nameless_are_sent_away_when_the_server_ends() {
    leaves_nothing(|| {
        let mut limits = patient();
        limits.server.grace = LONG;
        let server = Server::new(limits);
        let mut nameless = BufReader::new(connect(server.address));
        let mut text = String::new();
        nameless.read_line(&mut text).unwrap();
        drop(server.stop);
        nameless.read_to_string(&mut text).unwrap();
        assert_eq!(text, "your name?\n");
        assert!(server.ended.join().unwrap());
    });
}

#[test]
fn the_endless_and_the_deaf_are_sent_away() {
    leaves_nothing(|| {
        let server = Server::new(Limits { stall: 50 * MS, outbox: 5, ..patient() });
        let mut ann = Member::new(server.address, "ann");
        // A line without an end.
        let mut endless = Member::new(server.address, "endless");
        assert_eq!(ann.hears(), "* endless is here\n");
        endless.says(&"x".repeat(2000));
        assert_eq!(ann.hears(), "* endless has left\n");
        drop(endless);
        // One who hears nothing, while another says much: it goes, and nobody waits for it.
        let deaf = Member::new(server.address, "deaf");
        assert_eq!(ann.hears(), "* deaf is here\n");
        let talks = ann.0.get_ref().try_clone().unwrap();
        let talker = spawn_local(move || {
            let line = format!("{}\n", "y".repeat(900));
            while (&talks).write_all(line.as_bytes()).is_ok() {
                leno::kernel::yield_now();
            }
        });
        assert_eq!(ann.hears(), "* deaf has left\n");
        talker.cancel();
        drop((ann, deaf, server.stop));
        assert!(server.ended.join().unwrap());
    });
}
