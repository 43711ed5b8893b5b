//! Accounts and transfers. Both are sessions; they know each other by id, and talk by messages that are stored with the
//! steps that send and take them. So an order is carried out once, whoever dies meanwhile.

use leno_frame::{Co, resumable};
use leno_session::{Json, Pace, SessionId, Sessions, Stage, Store, Wait};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What an account is asked: to change by so much, and to tell that session whether it did.
#[derive(Serialize, Deserialize)]
struct Order {
    amount: i64,
    reply_to: SessionId,
    /// A compensation may not be refused.
    must: bool,
}

/// An account. It says its balance, which is never below 0 nor above its limit, but for compensations.
#[resumable]
async fn account(co: &mut Co<Wait, Json<Order>, Stage>, opening: i64, limit: i64) -> i64 {
    let mut balance: i64 = opening;
    loop {
        let Json(order) = co.suspend(Wait::answer(balance)).await;
        let is_done = order.must || (0..=limit).contains(&(balance + order.amount));
        if is_done {
            balance += order.amount;
        }
        co.ctx().send_json(order.reply_to, &is_done);
    }
}

/// Orders a change and waits for the reply.
#[resumable]
async fn change(
    co: &mut Co<Wait, Json<bool>, Stage>,
    account: SessionId,
    amount: i64,
    must: bool,
) -> bool {
    let reply_to = co.ctx().id();
    co.ctx().send_json(account, &Order { amount, reply_to, must });
    let Json(is_done) = co.suspend(Wait::answer("ordered")).await;
    is_done
}

/// Takes from one account and gives to another; if that one does not want it, gives it back.
#[resumable]
async fn transfer(
    co: &mut Co<Wait, Json<bool>, Stage>,
    from: SessionId,
    to: SessionId,
    amount: i64,
) -> String {
    if !change(co, from, -amount, false).await {
        return "refused".into();
    }
    if change(co, to, amount, false).await {
        return "done".into();
    }
    let is_back = change(co, from, amount, true).await;
    assert!(is_back, "a compensation is not refused");
    "compensated".into()
}

pub(crate) fn engine(store: Arc<dyn Store>) -> Sessions {
    // The processes are killed from outside, so no session is to blame, however often.
    let (ttl, attempts) = (Duration::from_millis(400), u32::MAX);
    let pace = Pace { batch: 4, rounds: 2, ttl, attempts, ..Pace::default() };
    Sessions::open_shared(store)
        .register("account", account)
        .register("transfer", transfer)
        .pace(pace)
}

pub(crate) fn account_id(n: usize) -> SessionId {
    SessionId::named(&format!("account {n}"))
}

pub(crate) fn transfer_id(n: usize) -> SessionId {
    SessionId::named(&format!("transfer {n}"))
}

/// Who pays whom how much: anything, but the same each time.
pub(crate) fn order(n: usize, accounts: usize) -> (usize, usize, i64) {
    let from = n % accounts;
    (from, (from + 1 + n / accounts % (accounts - 1)) % accounts, 10 + (n as i64 * 37) % 90)
}

/// Opens accounts of 100 each and orders transfers between them.
pub(crate) fn begin(
    sessions: &Sessions,
    accounts: usize,
    transfers: usize,
) -> Result<(), leno_session::SessionError> {
    sessions.start_all("account", (0..accounts).map(|n| (account_id(n), (100, 150))))?;
    let orders = (0..transfers).map(|n| {
        let (from, to, amount) = order(n, accounts);
        (transfer_id(n), (account_id(from), account_id(to), amount))
    });
    sessions.start_all("transfer", orders)?;
    Ok(())
}
