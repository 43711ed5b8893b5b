//! Money transfers with compensation, run by 4 processes that are killed and stopped at random: money is conserved.
//!
//! Not in `suite`: the leg of kills builds it with optimisations.
#![forbid(unsafe_code)]

#[path = "../examples/35_transfer/bank.rs"]
mod bank;
#[path = "suite/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use leno_session::{Query, Sessions, State};
use support::chaos;
use support::server::Server;

const ACCOUNTS: usize = 10;

fn engine(address: &str) -> Sessions {
    bank::engine(chaos::open(address))
}

#[test]
#[ignore = "it is the worker of the others"]
fn worker() {
    chaos::work(engine);
}

fn transfers(address: &str, folder: &support::Folder) {
    let sessions = engine(address);
    let count = 40 * chaos::seconds().as_secs().max(1) as usize;
    bank::begin(&sessions, ACCOUNTS, count).unwrap();
    let mut workers = chaos::Workers::start(address, &folder.file("notes"), 4);
    let begun = Instant::now();
    let done =
        Query { kind: Some("transfer".into()), state: Some(State::Done), ..Query::default() };
    while sessions.list(&done).unwrap().len() < count {
        assert!(
            begun.elapsed() < Duration::from_secs(120) + 10 * chaos::seconds(),
            "{:?}",
            sessions.count()
        );
        if begun.elapsed() < chaos::seconds() || workers.kills < 10 {
            workers.strike();
        } else {
            workers.spare();
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    workers.spare();
    let mut expected = [100; ACCOUNTS];
    let mut outcomes = std::collections::BTreeMap::<String, usize>::new();
    for n in 0..count {
        let outcome = sessions.show(bank::transfer_id(n)).unwrap().text();
        let (from, to, amount) = bank::order(n, ACCOUNTS);
        if outcome == "done" {
            expected[from] -= amount;
            expected[to] += amount;
        }
        *outcomes.entry(outcome).or_default() += 1;
    }
    let mut balances = [0_i64; ACCOUNTS];
    for (n, balance) in balances.iter_mut().enumerate() {
        *balance = sessions.run(bank::account_id(n)).unwrap().value().unwrap();
    }
    assert_eq!(balances, expected, "every account has what its transfers leave");
    assert_eq!(balances.iter().sum::<i64>(), 100 * ACCOUNTS as i64, "money is conserved");
    println!("{} kills, {} zombies; {outcomes:?}; {balances:?}", workers.kills, workers.zombies);
}

#[test]
fn money_is_conserved_in_a_file() {
    let folder = support::Folder::new("bank");
    transfers(&folder.file("store").display().to_string(), &folder);
}

#[test]
fn money_is_conserved_on_a_server() {
    let Some(server) = Server::start("bank") else { return };
    transfers(&server.url(), &support::Folder::new("bank-server"));
}
