//! A money transfer with compensation, run by 4 processes that are killed again and again: money is conserved.

mod bank;

use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{env, fs, thread};

use leno_session::{Query, Sessions, State, store};

const ACCOUNTS: usize = 8;
const TRANSFERS: usize = 60;

type Failure = Box<dyn std::error::Error>;

fn worker(address: &str) -> Result<Child, Failure> {
    Ok(Command::new(env::current_exe()?).arg(address).spawn()?)
}

fn end(mut worker: Child) -> Result<(), Failure> {
    worker.kill()?;
    worker.wait()?;
    Ok(())
}

fn count(sessions: &Sessions, state: State, kind: &str) -> Result<usize, Failure> {
    let query = Query { kind: Some(kind.into()), state: Some(state), ..Query::default() };
    Ok(sessions.list(&query)?.len())
}

fn main() -> Result<(), Failure> {
    // The worker processes are this program with an argument.
    if let Some(address) = env::args().nth(1) {
        return Ok(bank::engine(store::open(&address)?).work(&AtomicBool::new(false))?);
    }
    let folder = env::temp_dir().join(format!("leno-transfer-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let address = folder.join("store").display().to_string();
    let sessions = bank::engine(store::open(&address)?);
    bank::begin(&sessions, ACCOUNTS, TRANSFERS)?;

    let mut workers = (0..4).map(|_| worker(&address)).collect::<Result<Vec<_>, _>>()?;
    let mut kills = 0;
    while count(&sessions, State::Done, "transfer")? < TRANSFERS {
        thread::sleep(Duration::from_millis(20));
        if kills < 30 {
            end(std::mem::replace(&mut workers[kills % 4], worker(&address)?))?;
            kills += 1;
        }
    }
    workers.into_iter().try_for_each(end)?;

    let mut expected = [100; ACCOUNTS];
    for n in 0..TRANSFERS {
        let (from, to, amount) = bank::order(n, ACCOUNTS);
        if sessions.show(bank::transfer_id(n))?.text() == "done" {
            expected[from] -= amount;
            expected[to] += amount;
        }
    }
    let mut balances = [0; ACCOUNTS];
    for (n, balance) in balances.iter_mut().enumerate() {
        // A killed worker may have left an account in the middle of a step: it goes on here.
        *balance = sessions.run(bank::account_id(n))?.value().ok_or("no balance")?;
    }
    println!("workers were killed: {}", kills > 0);
    println!("transfers that came to an end: {}", count(&sessions, State::Done, "transfer")?);
    println!("each account has what its transfers leave: {}", balances == expected);
    println!("money before: {}, after: {}", 100 * ACCOUNTS, balances.iter().sum::<i64>());
    fs::remove_dir_all(folder)?;
    Ok(())
}
