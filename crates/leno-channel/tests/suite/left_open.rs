//! What the rules leave open, a policy decides: who runs after a spawn or a rendezvous, who of the ready
//! runs next. Without a policy the one that runs goes on.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use leno_channel::{Select, Sender, bounded, channel};
use leno_kernel::policy::{
    Choice, ChoiceKind, ChoiceLog, Fifo, Policy, Ready, Recorded, Recording, Replay, SeededRandom,
};
use leno_kernel::{Co, LocalSystem, scope, spawn_local, spawn_local_future, yield_now};

#[derive(Clone, Default)]
struct Log(Rc<RefCell<String>>);

impl Log {
    fn note(&self, event: &str) {
        self.0.borrow_mut().push_str(event);
    }
}

type Program = fn(&LocalSystem, &Log);

fn run(policy: Option<impl Policy + 'static>, program: Program) -> String {
    let builder = LocalSystem::builder();
    let system = match policy {
        Some(policy) => builder.policy(policy).build(),
        None => builder.build(),
    };
    let log = Log::default();
    program(&system, &log);
    system.run().unwrap();
    log.0.take()
}

/// First come, first served, but always this one after a rendezvous or a spawn.
struct After(Fifo, usize);

impl Policy for After {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.ready(ready);
    }
    fn pick(&mut self) -> Option<Co> {
        self.0.pick()
    }
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        assert_eq!((choice.kind, choice.candidates.len()), (ChoiceKind::After, 2));
        self.1
    }
    fn forget(&mut self, co: Co) {
        self.0.forget(co);
    }
}

/// Without a policy; if the one that runs always goes on; if the other one always does.
fn outcomes(program: Program) -> [String; 3] {
    let after = |which| run(Some(After(Fifo::new(), which)), program);
    [run(None::<Fifo>, program), after(0), after(1)]
}

/// What is seen under many seeds, each of which gives the same again when its choices are replayed.
fn seen(program: Program) -> BTreeSet<String> {
    (0..60)
        .map(|seed| {
            let recording = Recording::new();
            let seen = run(Some(Recorded::new(SeededRandom::new(seed), &recording)), program);
            let token = recording.to_string();
            let log: ChoiceLog = token.parse().unwrap();
            assert_eq!(run(Some(Replay::new(log)), program), seen, "seed {seed}: {token}");
            seen
        })
        .collect()
}

fn both<const N: usize>(all: [&str; N]) -> BTreeSet<String> {
    all.into_iter().map(str::to_owned).collect()
}

/// `o` is another one that is ready; `n` is new, `s` has spawned it.
fn spawns(system: &LocalSystem, log: &Log) {
    let log = log.clone();
    drop(system.spawn(move || {
        let (new, other) = (log.clone(), log.clone());
        drop(leno_kernel::try_spawn_local(&Default::default(), move || other.note("o")));
        log.note("-");
        drop(spawn_local(move || new.note("n")));
        log.note("s");
    }));
}

#[test]
fn k7_of_spawner_and_spawned_either_runs_on() {
    assert_eq!(outcomes(spawns), ["-son", "-son", "o-ns"]);
    // Whoever is chosen runs at once, though another was ready before.
    assert_eq!(seen(spawns), both(["-son", "-sno", "-nso", "-nos", "o-sn", "o-ns"]));
}

/// Others that spawn: for a future, in a scope; and a future itself, which cannot give way.
fn spawns_otherwise(system: &LocalSystem, log: &Log) {
    let log = log.clone();
    drop(system.spawn(move || {
        let new = log.clone();
        drop(spawn_local_future(async move { new.note("f") }));
        log.note("s");
        scope(|s| {
            s.spawn(|| log.note("c"));
            log.note("s");
        });
        let (new, own) = (log.clone(), log.clone());
        drop(spawn_local_future(async move {
            drop(spawn_local(move || new.note("n")));
            own.note("p");
        }));
    }));
}

#[test]
fn every_way_to_spawn_leaves_it_open() {
    assert_eq!(outcomes(spawns_otherwise), ["ssfcpn", "ssfcpn", "fscspn"]);
}

fn blocked_first(system: &LocalSystem, log: &Log) {
    let ((tx, rx), writer, reader) = (channel(), log.clone(), log.clone());
    drop(system.spawn(move || {
        drop(spawn_local(move || {
            writer.note("b");
            tx.send(1).unwrap();
            writer.note("w");
        }));
        yield_now();
        // Whatever the policy picks, the writer waits by now, or this waits for it.
        let is_blocked = rx.state() == leno_channel::State::Blocked;
        assert_eq!(rx.recv(), Ok(1));
        reader.note(if is_blocked { "r" } else { "h" });
    }));
}

#[test]
fn k14_a_read_releases_one_writer_and_either_runs() {
    assert_eq!(outcomes(blocked_first), ["brw", "brw", "bwr"]);
    assert!(seen(blocked_first).is_superset(&both(["brw", "bwr"])));
}

fn hungry_first(system: &LocalSystem, log: &Log) {
    let ((tx, rx), writer, reader) = (channel(), log.clone(), log.clone());
    drop(system.spawn(move || {
        drop(spawn_local(move || {
            reader.note("h");
            assert_eq!(rx.recv(), Ok(1));
            reader.note("r");
        }));
        yield_now();
        tx.send(1).unwrap();
        writer.note("w");
    }));
}

#[test]
fn k17_a_write_releases_one_reader_and_either_runs() {
    assert_eq!(outcomes(hungry_first), ["hwr", "hwr", "hrw"]);
    assert!(seen(hungry_first).is_superset(&both(["hwr", "hrw"])));
}

/// The same by a select, by a full buffer that gets room, and from inside a generator's resumer.
fn otherwise(system: &LocalSystem, log: &Log) {
    let sends = |tx: Sender<u32>, log: Log| {
        move || {
            tx.send(1).unwrap();
            log.note("w");
        }
    };
    let ((tx, rx), (full, from), log) = (channel(), bounded(1), log.clone());
    full.try_send(0).unwrap();
    drop(system.spawn(sends(tx, log.clone())));
    drop(system.spawn(sends(full, log.clone())));
    drop(system.spawn(move || {
        assert_eq!(Select::new().recv(&rx, |v| v).wait(), Ok(Ok(1)));
        log.note("s");
        assert_eq!(from.recv(), Ok(0));
        log.note("r");
    }));
}

#[test]
fn c1_every_rendezvous_leaves_open_who_runs_on() {
    assert_eq!(outcomes(otherwise), ["srww", "srww", "wswr"]);
}

/// Neither attempts nor futures nor destructors give way: nobody expects that others run meanwhile.
fn attempts(system: &LocalSystem, log: &Log) {
    let ((tx, rx), log) = (channel(), log.clone());
    let waits = log.clone();
    drop(system.spawn(move || {
        assert_eq!(rx.recv(), Ok(1));
        assert!(rx.recv().is_err());
        waits.note("r");
    }));
    drop(system.spawn(move || {
        tx.try_send(1).unwrap();
        log.note("t");
        yield_now();
        drop(tx);
        log.note("d");
    }));
}

#[test]
fn c1_who_cannot_wait_goes_on() {
    assert_eq!(outcomes(attempts), ["tdr", "tdr", "tdr"]);
}

#[test]
fn k20_who_of_the_ready_runs_next_is_the_policys_choice() {
    let three: Program = |system, log| {
        for name in ["a", "b", "c"] {
            let log = log.clone();
            drop(system.spawn(move || log.note(name)));
        }
    };
    assert_eq!(run(None::<Fifo>, three), "abc");
    assert_eq!(seen(three), both(["abc", "acb", "bac", "bca", "cab", "cba"]));
}
