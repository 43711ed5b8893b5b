//! Messages to something that serves them one by one: calls, and calls with an answer.
//!
//! All on one thread: caller and server take turns. In `entry-call` the last of each [`BATCH`] calls is
//! answered, so that the server has served the others by then, whatever its mailbox holds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::outcome::Verdict;
use crate::{peers, subject};

/// Calls of which one is answered.
pub const BATCH: u64 = 64;

pub const CALL: Bench = Bench {
    name: "entry-call",
    unit: "ns",
    about: "call a process of the same core, which serves it; one call in 64 is answered",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let mut contenders = subject::entry_call();
        contenders.extend([queue(), tokio(BATCH), actix(BATCH), ractor(BATCH), kameo(BATCH)]);
        let load = Load::Filling { granule: BATCH };
        vec![Case { parameter: None, load, isolated: false, rounds: None, contenders }]
    },
    judge: |outcome| {
        let limits =
            [("queue", 2.0), ("tokio", 1.0), ("actix", 1.0), ("ractor", 1.0), ("kameo", 1.0)];
        let at = |(peer, limit)| outcome.at_most(None, "leno", peer, limit);
        limits.into_iter().filter_map(at).collect::<Vec<Verdict>>()
    },
};

pub const REPLY: Bench = Bench {
    name: "entry-reply",
    unit: "ns",
    about: "call a process of the same core, and wait for its answer",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let mut contenders = subject::entry_reply();
        contenders.extend([tokio(1), actix(1), ractor(1), kameo(1)]);
        Case::only(contenders)
    },
    judge: |outcome| {
        let at = |peer| outcome.at_most(None, "leno", peer, 1.0);
        ["tokio", "actix", "ractor", "kameo"].into_iter().filter_map(at).collect::<Vec<Verdict>>()
    },
};

/// What came of `n` calls, if all were served.
pub fn served(n: u64, count: u64, elapsed: Duration) -> crate::contender::Result {
    let all = n * (n + 1) / 2;
    if count == all {
        Ok(Turn::ns(elapsed, n))
    } else {
        Err(Failure::failed(format!("{count} was counted instead of {all}")))
    }
}

/// What every server is sent.
pub enum Message<A> {
    Add(u64),
    AddAndGet(u64, A),
}

/// What a call costs at least: a message goes into a queue and is taken out.
fn queue() -> Contender {
    Contender::measured("queue", |n| {
        let mut queue: VecDeque<Message<()>> = VecDeque::new();
        let (mut count, start) = (0, Instant::now());
        for batch in 0..n / BATCH {
            for place in 1..BATCH {
                queue.push_back(Message::Add(batch * BATCH + place));
            }
            queue.push_back(Message::AddAndGet((batch + 1) * BATCH, ()));
            while let Some(message) = std::hint::black_box(&mut queue).pop_front() {
                match message {
                    Message::Add(by) | Message::AddAndGet(by, ()) => count += by,
                }
            }
        }
        served(n, std::hint::black_box(count), start.elapsed())
    })
}

/// A task behind a channel; answers come by another one.
fn tokio(batch: u64) -> Contender {
    use tokio::sync::{mpsc, oneshot};
    Contender::measured("tokio", move |n| {
        peers::tokio_on_this_thread()?.block_on(async {
            let (sender, mut receiver) = mpsc::unbounded_channel::<Message<oneshot::Sender<u64>>>();
            let server = tokio::spawn(async move {
                let mut count = 0;
                while let Some(message) = receiver.recv().await {
                    match message {
                        Message::Add(by) => count += by,
                        Message::AddAndGet(by, answer) => {
                            count += by;
                            let _ = answer.send(count);
                        }
                    }
                }
            });
            let caller = tokio::spawn(async move {
                let (mut count, start) = (0, Instant::now());
                for number in 1..=n {
                    if number % batch != 0 {
                        sender.send(Message::Add(number)).map_err(Failure::failed)?;
                        continue;
                    }
                    let (answer, reply) = oneshot::channel();
                    let call = Message::AddAndGet(number, answer);
                    sender.send(call).map_err(Failure::failed)?;
                    count = reply.await.map_err(Failure::failed)?;
                }
                served(n, count, start.elapsed())
            });
            let turn = caller.await.map_err(Failure::failed)?;
            server.await.map_err(Failure::failed)?;
            turn
        })
    })
}

mod with_actix {
    use actix::prelude::{Actor, Context, Handler, Message};

    #[derive(Default)]
    pub struct Counter(pub u64);

    impl Actor for Counter {
        type Context = Context<Self>;
    }

    pub struct Add(pub u64);

    impl Message for Add {
        type Result = u64;
    }

    impl Handler<Add> for Counter {
        type Result = u64;

        fn handle(&mut self, Add(by): Add, _: &mut Context<Self>) -> u64 {
            self.0 += by;
            self.0
        }
    }
}

fn actix(batch: u64) -> Contender {
    use actix::Actor as _;
    Contender::measured("actix", move |n| {
        actix::System::new().block_on(async move {
            let counter = with_actix::Counter::default().start();
            let (mut count, start) = (0, Instant::now());
            for number in 1..=n {
                if number % batch == 0 {
                    let reply = counter.send(with_actix::Add(number));
                    count = reply.await.map_err(Failure::failed)?;
                } else {
                    counter.do_send(with_actix::Add(number));
                }
            }
            served(n, count, start.elapsed())
        })
    })
}

mod with_ractor {
    use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

    pub struct Counter;

    pub type Call = super::Message<RpcReplyPort<u64>>;

    impl Actor for Counter {
        type Msg = Call;
        type State = u64;
        type Arguments = ();

        async fn pre_start(&self, _: ActorRef<Call>, _: ()) -> Result<u64, ActorProcessingErr> {
            Ok(0)
        }

        async fn handle(
            &self,
            _: ActorRef<Call>,
            call: Call,
            count: &mut u64,
        ) -> Result<(), ActorProcessingErr> {
            match call {
                super::Message::Add(by) => *count += by,
                super::Message::AddAndGet(by, port) => {
                    *count += by;
                    port.send(*count)?;
                }
            }
            Ok(())
        }
    }
}

fn ractor(batch: u64) -> Contender {
    use ractor::Actor as _;
    Contender::measured("ractor", move |n| {
        let runtime = peers::tokio_on_this_thread_with_time()?;
        runtime.block_on(async move {
            let spawned = with_ractor::Counter::spawn(None, with_ractor::Counter, ()).await;
            let (counter, ended) = spawned.map_err(Failure::failed)?;
            let own = counter.clone();
            let caller = tokio::spawn(async move {
                let (mut count, start) = (0, Instant::now());
                for number in 1..=n {
                    if number % batch == 0 {
                        let call = |port| Message::AddAndGet(number, port);
                        let called = own.call(call, None).await.map_err(Failure::failed)?;
                        count = called.success_or(Failure::failed("no answer"))?;
                    } else {
                        own.cast(Message::Add(number)).map_err(Failure::failed)?;
                    }
                }
                served(n, count, start.elapsed())
            });
            let turn = caller.await.map_err(Failure::failed)?;
            counter.stop(None);
            ended.await.map_err(Failure::failed)?;
            turn
        })
    })
}

mod with_kameo {
    use kameo::Actor;
    use kameo::message::{Context, Message};

    #[derive(Actor, Default)]
    pub struct Counter(pub u64);

    pub struct Add(pub u64);

    impl Message<Add> for Counter {
        type Reply = u64;

        async fn handle(&mut self, Add(by): Add, _: &mut Context<Self, u64>) -> u64 {
            self.0 += by;
            self.0
        }
    }
}

fn kameo(batch: u64) -> Contender {
    use kameo::actor::Spawn as _;
    Contender::measured("kameo", move |n| {
        let runtime = peers::tokio_on_this_thread_with_time()?;
        runtime.block_on(async move {
            let counter = with_kameo::Counter::spawn_with_mailbox(
                with_kameo::Counter::default(),
                kameo::mailbox::unbounded(),
            );
            let caller = tokio::spawn(async move {
                let (mut count, start) = (0, Instant::now());
                for number in 1..=n {
                    let message = with_kameo::Add(number);
                    if number % batch == 0 {
                        count = counter.ask(message).await.map_err(Failure::failed)?;
                    } else {
                        counter.tell(message).await.map_err(Failure::failed)?;
                    }
                }
                served(n, count, start.elapsed())
            });
            caller.await.map_err(Failure::failed)?
        })
    })
}
