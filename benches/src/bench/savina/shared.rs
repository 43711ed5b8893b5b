//! Tasks that wait for a condition: by a task that holds requests back, or by a lock, semaphores and notices.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::task::yield_now;

use super::{Work, check, joined};
use crate::contender::Failure;

/// What a table of forks is asked.
enum Forks {
    Take(usize, oneshot::Sender<()>),
    Put(usize),
}

pub fn philosophers(size: u32) -> Work {
    Box::pin(async move {
        let (table, mut asked) = mpsc::unbounded_channel::<Forks>();
        tokio::spawn(async move {
            let (mut taken, mut hungry) = ([false; 5], Vec::new());
            while let Some(message) = asked.recv().await {
                match message {
                    Forks::Take(seat, answer) => hungry.push((seat, answer)),
                    Forks::Put(seat) => (taken[seat], taken[(seat + 1) % 5]) = (false, false),
                }
                let is_free =
                    |seat: usize, taken: &[bool; 5]| !taken[seat] && !taken[(seat + 1) % 5];
                while let Some(first) = hungry.iter().position(|(seat, _)| is_free(*seat, &taken)) {
                    let (seat, answer) = hungry.remove(first);
                    (taken[seat], taken[(seat + 1) % 5]) = (true, true);
                    let _ = answer.send(());
                }
            }
        });
        let dine = |seat| {
            let table = table.clone();
            tokio::spawn(async move {
                for _ in 0..size {
                    let (answer, reply) = oneshot::channel();
                    table.send(Forks::Take(seat, answer)).map_err(Failure::failed)?;
                    reply.await.map_err(Failure::failed)?;
                    yield_now().await;
                    table.send(Forks::Put(seat)).map_err(Failure::failed)?;
                }
                Ok::<u32, Failure>(size)
            })
        };
        let all: Vec<_> = (0..5).map(dine).collect();
        let mut meals = 0;
        for one in all {
            meals += joined(one).await??;
        }
        check(meals, 5 * size)?;
        Ok(u64::from(meals))
    })
}

/// What a buffer of three is asked.
enum Buffer {
    Put(u32, oneshot::Sender<usize>),
    Get(oneshot::Sender<u32>),
}

pub fn bounded_buffer(size: u32) -> Work {
    Box::pin(async move {
        let (buffer, mut asked) = mpsc::unbounded_channel::<Buffer>();
        tokio::spawn(async move {
            let (mut held, mut puts, mut gets) =
                (VecDeque::new(), VecDeque::new(), VecDeque::new());
            while let Some(message) = asked.recv().await {
                match message {
                    Buffer::Put(n, answer) => puts.push_back((n, answer)),
                    Buffer::Get(answer) => gets.push_back(answer),
                }
                loop {
                    if held.len() < 3
                        && let Some((n, answer)) = puts.pop_front()
                    {
                        held.push_back(n);
                        let _ = answer.send(held.len());
                    } else if !held.is_empty()
                        && let Some(answer) = gets.pop_front()
                        && let Some(n) = held.pop_front()
                    {
                        let _ = answer.send(n);
                    } else {
                        break;
                    }
                }
            }
        });
        let mut consumers = Vec::new();
        for _ in 0..2 {
            let (put, get) = (buffer.clone(), buffer.clone());
            consumers.push(tokio::spawn(async move {
                let mut eaten = 0;
                for _ in 0..size {
                    let (answer, reply) = oneshot::channel();
                    get.send(Buffer::Get(answer)).map_err(Failure::failed)?;
                    eaten += u64::from(reply.await.map_err(Failure::failed)?);
                }
                Ok::<u64, Failure>(eaten)
            }));
            tokio::spawn(async move {
                for n in 1..=size {
                    let (answer, reply) = oneshot::channel();
                    put.send(Buffer::Put(n, answer)).map_err(Failure::failed)?;
                    reply.await.map_err(Failure::failed)?;
                }
                Ok::<(), Failure>(())
            });
        }
        let mut eaten = 0;
        for consumer in consumers {
            eaten += joined(consumer).await??;
        }
        check(eaten, u64::from(size) * (u64::from(size) + 1))?;
        Ok(2 * u64::from(size))
    })
}

/// A waiting room with three chairs.
#[derive(Default)]
struct Shop {
    waiting: u32,
    cut: u32,
    turned_away: u32,
    is_closed: bool,
}

pub fn sleeping_barber(size: u32) -> Work {
    Box::pin(async move {
        let shop = Arc::new((Mutex::new(Shop::default()), Notify::new()));
        let own = shop.clone();
        let barber = tokio::spawn(async move {
            let (shop, came) = &*own;
            loop {
                let (has_one, is_closed) = {
                    let mut shop = shop.lock().expect("nobody panics");
                    let has_one = shop.waiting > 0;
                    shop.waiting -= u32::from(has_one);
                    shop.cut += u32::from(has_one);
                    (has_one, shop.is_closed)
                };
                match (has_one, is_closed) {
                    (true, _) => yield_now().await,
                    (false, true) => return,
                    (false, false) => came.notified().await,
                }
            }
        });
        let come = |_| {
            let own = shop.clone();
            tokio::spawn(async move {
                let (shop, came) = &*own;
                for _ in 0..size {
                    {
                        let mut shop = shop.lock().expect("nobody panics");
                        if shop.waiting == 3 {
                            shop.turned_away += 1;
                        } else {
                            shop.waiting += 1;
                            came.notify_one();
                        }
                    }
                    yield_now().await;
                }
            })
        };
        let customers: Vec<_> = (0..4).map(come).collect();
        for customer in customers {
            joined(customer).await?;
        }
        shop.0.lock().expect("nobody panics").is_closed = true;
        shop.1.notify_one();
        joined(barber).await?;
        let shop = shop.0.lock().expect("nobody panics");
        check(shop.cut + shop.turned_away, 4 * size)?;
        Ok(4 * u64::from(size))
    })
}

async fn wait(semaphore: &Semaphore) -> Result<(), Failure> {
    semaphore.acquire().await.map_err(Failure::failed)?.forget();
    Ok(())
}

pub fn cigarette_smokers(size: u32) -> Work {
    Box::pin(async move {
        let table_is_free = Arc::new(Semaphore::new(1));
        let turns: Vec<_> = (0..3).map(|_| Arc::new(Semaphore::new(0))).collect();
        let smoke = |turn: &Arc<Semaphore>| {
            let (turn, table_is_free) = (turn.clone(), table_is_free.clone());
            tokio::spawn(async move {
                let mut smoked = 0;
                for _ in 0..size {
                    wait(&turn).await?;
                    smoked += 1;
                    table_is_free.add_permits(1);
                }
                Ok::<u32, Failure>(smoked)
            })
        };
        let smokers: Vec<_> = turns.iter().map(smoke).collect();
        let agent = tokio::spawn(async move {
            for round in 0..3 * size as usize {
                wait(&table_is_free).await?;
                turns[round % 3].add_permits(1);
            }
            Ok::<(), Failure>(())
        });
        for smoker in smokers {
            check(joined(smoker).await??, size)?;
        }
        joined(agent).await??;
        Ok(3 * u64::from(size))
    })
}

/// What an account is asked.
enum Account {
    Deposit(i64, oneshot::Sender<i64>),
    Withdraw(i64, oneshot::Sender<i64>),
    Balance(oneshot::Sender<i64>),
}

fn account(mut balance: i64) -> mpsc::UnboundedSender<Account> {
    let (sender, mut asked) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut held_back: Vec<(i64, oneshot::Sender<i64>)> = Vec::new();
        while let Some(message) = asked.recv().await {
            match message {
                Account::Deposit(amount, answer) => {
                    balance += amount;
                    let _ = answer.send(balance);
                }
                Account::Withdraw(amount, answer) => held_back.push((amount, answer)),
                Account::Balance(answer) => drop(answer.send(balance)),
            }
            while let Some(first) = held_back.iter().position(|(amount, _)| *amount <= balance) {
                let (amount, answer) = held_back.remove(first);
                balance -= amount;
                let _ = answer.send(amount);
            }
        }
    });
    sender
}

async fn ask(
    account: &mpsc::UnboundedSender<Account>,
    message: impl FnOnce(oneshot::Sender<i64>) -> Account,
) -> Result<i64, Failure> {
    let (answer, reply) = oneshot::channel();
    account.send(message(answer)).map_err(Failure::failed)?;
    reply.await.map_err(Failure::failed)
}

pub fn banking(size: u32) -> Work {
    Box::pin(async move {
        let accounts: Vec<_> = (0..10).map(|_| account(1000)).collect();
        let transfer = |seed: u64| {
            let (accounts, mut random) = (accounts.clone(), seed);
            tokio::spawn(async move {
                for _ in 0..size {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let (from, to) = ((random >> 33) % 10, (random >> 43) % 10);
                    let amount = (random >> 60) as i64;
                    let from = &accounts[from as usize];
                    let amount = ask(from, |answer| Account::Withdraw(amount, answer)).await?;
                    ask(&accounts[to as usize], |answer| Account::Deposit(amount, answer)).await?;
                }
                Ok::<(), Failure>(())
            })
        };
        let tellers: Vec<_> = (0..4).map(transfer).collect();
        for teller in tellers {
            joined(teller).await??;
        }
        let mut sum = 0;
        for account in &accounts {
            sum += ask(account, Account::Balance).await?;
        }
        check(sum, 10_000)?;
        Ok(4 * u64::from(size))
    })
}
