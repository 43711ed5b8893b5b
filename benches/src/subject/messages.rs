//! leno in the benches of messages: channels of one core, channels of any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leno::channel::{self, Receiver, Sender};
use leno::kernel::{LocalSystem, Options, System};

use crate::bench::rings::STACK;
use crate::contender::{Contender, Failure};
use crate::relay::{
    Blocking, Ends, Member, OPEN, Plan, Room, asynchronously, contender, crew as peers,
};

/// Channels of one thread.
struct Local;
/// The same, unbounded whatever room is asked for, as may's are.
struct Unbounded;
/// Channels of any thread.
struct Shared;

macro_rules! ends {
    ($name:ident, $flavour:ty, $open:expr) => {
        impl Ends for $name {
            type Tx = Sender<u64, $flavour>;
            type Rx = Receiver<u64, $flavour>;

            fn open(room: Room) -> (Self::Tx, Self::Rx) {
                $open(room)
            }
        }

        impl Blocking for $name {
            fn send(tx: &Self::Tx, value: u64) {
                tx.send(value).expect(OPEN);
            }

            fn recv(rx: &Self::Rx) -> Option<u64> {
                rx.recv().ok()
            }
        }
    };
}

ends!(Local, channel::Local, |room| match room {
    Room::Nothing => channel::channel(),
    Room::Some(n) => channel::bounded(n),
    Room::Any => channel::unbounded(),
});
ends!(Unbounded, channel::Local, |_| channel::unbounded());
ends!(Shared, channel::Shared, |room| match room {
    Room::Nothing => channel::shared::channel(),
    Room::Some(n) => channel::shared::bounded(n),
    Room::Any => channel::shared::unbounded(),
});

/// On one core. Where several messages are under way, room decides what there is to do.
pub fn relay(plan: Plan) -> Vec<Contender> {
    let mut all = vec![
        contender::<Local>("leno", plan, coroutines),
        contender::<Local>("leno futures", plan, futures),
    ];
    if let Plan::Chain(_) = plan {
        all.push(contender::<Unbounded>("leno unbounded", plan, coroutines));
    }
    all
}

/// Threads over leno's channels.
pub fn relay_by_threads(plan: Plan) -> Vec<Contender> {
    vec![contender::<Shared>("leno threads", plan, peers::threads)]
}

/// Two members, each on a core of its own.
pub fn relay_across_cores(plan: Plan) -> Vec<Contender> {
    vec![
        contender::<Shared>("leno", plan, on_cores_of_one_system),
        contender::<Shared>("leno systems", plan, in_systems_of_their_own),
    ]
}

fn coroutines<E: Blocking>(members: Vec<Member<E>>) -> Result<(), Failure> {
    let system = LocalSystem::new();
    let options = Options::new().stack_size(STACK);
    for member in members {
        drop(system.spawn_with(&options, move || member.run()).map_err(Failure::failed)?);
    }
    run(&system)
}

fn futures(members: Vec<Member<Local>>) -> Result<(), Failure> {
    let system = LocalSystem::new();
    for member in members {
        drop(system.spawn_future(async move {
            asynchronously!(member,
                tx, value => tx.send_async(value).await.expect(OPEN),
                rx => rx.recv_async().await.ok())
        }));
    }
    run(&system)
}

/// Each begins by waiting, without giving its core away, until all have begun: so there is a core for
/// each.
fn on_cores_of_one_system(members: Vec<Member<Shared>>) -> Result<(), Failure> {
    let system = System::new(members.len()).map_err(Failure::failed)?;
    let missing = Arc::new(AtomicUsize::new(members.len()));
    let start = |member: Member<Shared>| {
        let missing = missing.clone();
        system.spawn(move || {
            missing.fetch_sub(1, Ordering::Relaxed);
            while missing.load(Ordering::Relaxed) > 0 {
                std::hint::spin_loop();
            }
            member.run();
        })
    };
    let all: Vec<_> = members.into_iter().map(start).collect();
    all.into_iter().try_for_each(|one| one.join()).map_err(Failure::failed)
}

fn in_systems_of_their_own(members: Vec<Member<Shared>>) -> Result<(), Failure> {
    let start = |member: Member<Shared>| {
        std::thread::spawn(move || {
            let system = LocalSystem::new();
            drop(system.spawn(move || member.run()));
            run(&system)
        })
    };
    let all: Vec<_> = members.into_iter().map(start).collect();
    all.into_iter().try_for_each(|one| one.join().expect("it does not panic"))
}

fn run(system: &LocalSystem) -> Result<(), Failure> {
    let report = system.run().map_err(Failure::failed)?;
    if report.failures.is_empty() { Ok(()) } else { Err(Failure::failed("a member panicked")) }
}
