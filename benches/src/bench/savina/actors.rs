//! Tasks that serve messages one by one.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

use super::{Work, check, joined};
use crate::contender::Failure;

pub fn ping_pong(size: u32) -> Work {
    Box::pin(async move {
        let (sender, mut receiver) = mpsc::unbounded_channel::<(u32, oneshot::Sender<u32>)>();
        let pong = tokio::spawn(async move {
            while let Some((n, answer)) = receiver.recv().await {
                let _ = answer.send(n + 1);
            }
        });
        let ping = tokio::spawn(async move {
            let mut n = 0;
            for _ in 0..size {
                let (answer, reply) = oneshot::channel();
                sender.send((n, answer)).map_err(Failure::failed)?;
                n = reply.await.map_err(Failure::failed)?;
            }
            Ok::<u32, Failure>(n)
        });
        check(joined(ping).await??, size)?;
        joined(pong).await?;
        Ok(u64::from(size))
    })
}

pub fn thread_ring(size: u32) -> Work {
    Box::pin(async move {
        let (ended, end) = oneshot::channel::<usize>();
        let ended = Arc::new(Mutex::new(Some(ended)));
        let ends: Vec<_> = (0..100).map(|_| mpsc::unbounded_channel::<u32>()).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        for (place, mut receiver) in receivers.into_iter().enumerate() {
            let (next, ended) = (senders[(place + 1) % 100].clone(), ended.clone());
            tokio::spawn(async move {
                while let Some(left) = receiver.recv().await {
                    if left > 0 {
                        let _ = next.send(left - 1);
                    } else if let Some(ended) = ended.lock().expect("nobody panics").take() {
                        let _ = ended.send(place);
                    }
                }
            });
        }
        senders[0].send(size).map_err(Failure::failed)?;
        check(end.await.map_err(Failure::failed)?, size as usize % 100)?;
        Ok(u64::from(size))
    })
}

/// What a counter is sent.
enum Count {
    Increment,
    Get(oneshot::Sender<u64>),
}

fn counter() -> UnboundedSender<Count> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut count = 0;
        while let Some(message) = receiver.recv().await {
            match message {
                Count::Increment => count += 1,
                Count::Get(answer) => drop(answer.send(count)),
            }
        }
    });
    sender
}

async fn count_of(counter: &UnboundedSender<Count>) -> Result<u64, Failure> {
    let (answer, reply) = oneshot::channel();
    counter.send(Count::Get(answer)).map_err(Failure::failed)?;
    reply.await.map_err(Failure::failed)
}

pub fn counting(size: u32) -> Work {
    produce(1, size)
}

pub fn fork_join(size: u32) -> Work {
    produce(60, size)
}

/// As many counters, each called `size` times by one producer.
fn produce(counters: u64, size: u32) -> Work {
    Box::pin(async move {
        let all: Vec<_> = (0..counters).map(|_| counter()).collect();
        let producer = tokio::spawn(async move {
            for _ in 0..size {
                for counter in &all {
                    counter.send(Count::Increment).map_err(Failure::failed)?;
                }
            }
            let mut sum = 0;
            for counter in &all {
                sum += count_of(counter).await?;
            }
            Ok::<u64, Failure>(sum)
        });
        let counted = joined(producer).await??;
        check(counted, counters * u64::from(size))?;
        Ok(counted)
    })
}

/// What the mall says: whom one has met, or that it is closed.
type Met = Option<u8>;

pub fn chameneos(size: u32) -> Work {
    Box::pin(async move {
        let (mall, mut comes) = mpsc::unbounded_channel::<(UnboundedSender<Met>, u8)>();
        tokio::spawn(async move {
            let (mut left, mut waiting) = (size, None::<(UnboundedSender<Met>, u8)>);
            while let Some((who, colour)) = comes.recv().await {
                if left == 0 {
                    let _ = who.send(None);
                    continue;
                }
                match waiting.take() {
                    None => waiting = Some((who, colour)),
                    Some((other, others)) => {
                        left -= 1;
                        let _ = other.send(Some(colour));
                        let _ = who.send(Some(others));
                    }
                }
            }
        });
        let mut all = Vec::new();
        for colour in [0, 1, 2, 0] {
            let mall = mall.clone();
            all.push(tokio::spawn(async move {
                let (own, mut told) = mpsc::unbounded_channel();
                let (mut colour, mut meetings) = (colour, 0);
                while mall.send((own.clone(), colour)).is_ok() {
                    let Some(Some(other)) = told.recv().await else { break };
                    colour = if other == colour { colour } else { 3 - colour - other };
                    meetings += 1;
                }
                meetings
            }));
        }
        let mut meetings = 0;
        for one in all {
            meetings += joined(one).await?;
        }
        check(meetings, 2 * size)?;
        Ok(u64::from(size))
    })
}

/// Keeps the first number, and passes on what that does not divide.
fn keep_prime(mut numbers: mpsc::UnboundedReceiver<u64>, found: Arc<Mutex<Vec<u64>>>) -> Kept {
    Box::pin(async move {
        let Some(prime) = numbers.recv().await else { return };
        found.lock().expect("nobody panics").push(prime);
        let mut next = None;
        while let Some(n) = numbers.recv().await {
            if n.is_multiple_of(prime) {
                continue;
            }
            let (sender, _) = next.get_or_insert_with(|| {
                let (sender, receiver) = mpsc::unbounded_channel();
                (sender, tokio::spawn(keep_prime(receiver, found.clone())))
            });
            let _ = sender.send(n);
        }
        if let Some((sender, rest)) = next {
            drop(sender);
            let _ = rest.await;
        }
    })
}

type Kept = std::pin::Pin<Box<dyn std::future::Future<Output = ()> + Send>>;

pub fn sieve(size: u32) -> Work {
    Box::pin(async move {
        let found = Arc::new(Mutex::new(Vec::new()));
        let (sender, receiver) = mpsc::unbounded_channel();
        let first = tokio::spawn(keep_prime(receiver, found.clone()));
        let numbers = tokio::spawn(async move {
            (2..u64::from(size)).try_for_each(|n| sender.send(n).map_err(Failure::failed))
        });
        joined(numbers).await??;
        joined(first).await?;
        let found = found.lock().expect("nobody panics").clone();
        let is_prime = |n: &u64| (2..*n).all(|by| !n.is_multiple_of(by));
        check(found, (2..u64::from(size)).filter(is_prime).collect())?;
        Ok(u64::from(size))
    })
}

/// A task with a mailbox that is asked once, as each process is.
fn fib(n: u32) -> Fib {
    Box::pin(async move {
        if n < 2 {
            return u64::from(n);
        }
        let parts = [n - 1, n - 2].map(|n| {
            let (sender, mut receiver) = mpsc::unbounded_channel::<(u32, oneshot::Sender<u64>)>();
            tokio::spawn(async move {
                while let Some((n, answer)) = receiver.recv().await {
                    let _ = answer.send(fib(n).await);
                }
            });
            let (answer, reply) = oneshot::channel();
            let _ = sender.send((n, answer));
            reply
        });
        let mut sum = 0;
        for part in parts {
            sum += part.await.expect("it answers");
        }
        sum
    })
}

type Fib = std::pin::Pin<Box<dyn std::future::Future<Output = u64> + Send>>;

pub fn fibonacci(size: u32) -> Work {
    Box::pin(async move {
        let (below, all) = (0..size).fold((0, 1), |(a, b), _| (b, a + b));
        check(joined(tokio::spawn(fib(size))).await?, below)?;
        Ok(all)
    })
}
