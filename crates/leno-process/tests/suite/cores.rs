//! Cores as objects, and schedulers on them that are user code.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{inside, round_robin};
use leno_explore::{Explorer, thread};
use leno_kernel::{Options, System, sleep, yield_now};
use leno_process::{Budget, Core, Locked, Sink, charge};

fn here() -> Option<String> {
    std::thread::current().name().map(str::to_owned)
}

#[test]
fn m27_a_core_executes_whatever_it_is_given() {
    let core = Core::fork("any").unwrap();
    assert_eq!(core.attach(|| 5).join().unwrap(), 5);
    let coroutine = core.attach(|| {
        let numbers = leno_coroutine::Coroutine::new(|co, ()| (0..3).for_each(|n| co.suspend(n)));
        numbers.iter().collect::<Vec<_>>()
    });
    assert_eq!(coroutine.join().unwrap(), [0, 1, 2]);
    let scheduler = core.attach(|| {
        let sink = Sink::new();
        drop(sink.spawn(&Options::new(), || charge(20)));
        round_robin(&sink, Budget::units(10))
    });
    assert_eq!(scheduler.join().unwrap(), 2);
    assert_eq!((core.name(), format!("{core:?}").as_str()), ("any", "Core(any)"));
}

#[test]
fn m28_fork_starts_a_native_thread() {
    let (one, two) = (Core::fork("one").unwrap(), Core::fork("two").unwrap());
    let threads = [&one, &two].map(|core| core.attach(|| std::thread::current().id()));
    let [one, two] = threads.map(|thread| thread.join().unwrap());
    assert!(one != two && one != std::thread::current().id());
    assert!(!Core::fork_all().unwrap().is_empty());
}

type Job = Box<dyn FnOnce() + Send>;

/// The processes that no scheduler has started yet, for all of them.
type Processes = Locked<VecDeque<Job>>;

/// A scheduler of Madsen 2021, on a queue that several share: it starts a process, and gives each that
/// it has started its budget in turn. What has started stays on its core.
fn shares(queue: &Processes) {
    let sink = Sink::new();
    loop {
        if let Some(process) = queue.with(VecDeque::pop_front) {
            drop(sink.spawn(&Options::new(), process).expect("there is room"));
        }
        match sink.try_next() {
            Some(co) => drop(co.attach(Budget::units(10)).expect("it is ready")),
            None if sink.members() == 0 => return,
            None => yield_now(),
        }
    }
}

fn many_on_a_shared_queue(processes: u32, work: u32) -> u32 {
    let done = Arc::new(AtomicU32::new(0));
    let jobs = (0..processes).map(|_| {
        let done = done.clone();
        let job: Job = Box::new(move || {
            for _ in 0..work {
                charge(1);
                if work.is_multiple_of(7) {
                    yield_now();
                }
            }
            done.fetch_add(1, SeqCst);
        });
        job
    });
    let queue: Arc<Processes> = Arc::new(Locked::new(jobs.collect()));
    let cores = [Core::fork("c1").unwrap(), Core::fork("c2").unwrap()];
    let schedulers = cores.each_ref().map(|core| {
        let queue = queue.clone();
        core.attach(move || shares(&queue))
    });
    schedulers.into_iter().for_each(|scheduler| scheduler.join().unwrap());
    done.load(SeqCst)
}

#[test]
fn m29_several_schedulers_share_one_queue() {
    assert_eq!(many_on_a_shared_queue(100, 150), 100);
}

#[test]
fn m29_and_under_other_schedules() {
    Explorer::new().random(7).runs(40).check(|| {
        assert_eq!(many_on_a_shared_queue(3, 14), 3);
    });
}

#[test]
fn m37_a_critical_process_is_alone_on_its_core() {
    let cores: Vec<_> = ["critical", "others"].map(|name| Core::fork(name).unwrap()).into();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = seen.clone();
    let critical = cores[0].attach(move || own.lock().unwrap().push(("temp1", here())));
    let own = seen.clone();
    let others = cores[1].attach(move || {
        let sink = Sink::new();
        for name in ["temp2", "temp3"] {
            let seen = own.clone();
            drop(sink.spawn(&Options::new(), move || {
                charge(20);
                seen.lock().unwrap().push((name, here()));
            }));
        }
        round_robin(&sink, Budget::units(10));
    });
    critical.join().unwrap();
    others.join().unwrap();
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    let (critical, others) = (Some("critical-0".to_owned()), Some("others-0".to_owned()));
    assert_eq!(seen, [("temp1", critical), ("temp2", others.clone()), ("temp3", others)]);
}

#[test]
fn m38_round_robin_and_priorities_are_user_code() {
    /// Runs whoever has the highest priority, ten units at a time.
    fn by_priority(sink: &Sink, priority: impl Fn(leno_kernel::Co) -> u32) {
        let mut ready = Vec::new();
        loop {
            ready.extend(core::iter::from_fn(|| sink.try_next()));
            let Some(best) = (0..ready.len()).max_by_key(|n| priority(ready[*n])) else { return };
            ready.swap_remove(best).attach(Budget::units(10)).unwrap();
        }
    }
    fn order(scheduler: impl FnOnce(&Sink, &[leno_kernel::Co]) + 'static) -> String {
        inside(move || {
            let sink = Sink::new();
            let seen: crate::support::Seen = std::rc::Rc::default();
            let all: Vec<_> = ["a", "b", "c"]
                .into_iter()
                .map(|name| {
                    let seen = seen.clone();
                    let body = move || {
                        for _ in 0..2 {
                            charge(10);
                            crate::support::say(&seen, name);
                        }
                    };
                    sink.spawn(&Options::new(), body).unwrap().co().unwrap()
                })
                .collect();
            scheduler(&sink, &all);
            seen.take().concat()
        })
    }
    let in_turn = |sink: &Sink, _: &[leno_kernel::Co]| {
        round_robin(sink, Budget::units(10));
    };
    assert_eq!(order(in_turn), "abcabc");
    let text = order(|sink, all| {
        let all = all.to_vec();
        by_priority(sink, |co| all.iter().position(|other| *other == co).unwrap() as u32);
    });
    assert_eq!(text, "ccbbaa");
}

#[test]
fn m1_abstractions_and_their_schedulers_are_user_code() {
    // A pair of coroutines that take turns by a rule of their own: whoever has said less.
    let text = inside(|| {
        let said = std::rc::Rc::new(std::cell::RefCell::new(vec![String::new(), String::new()]));
        let sink = Sink::new();
        let all: Vec<_> = [(0, "ab"), (1, "123456")]
            .into_iter()
            .map(|(who, letters)| {
                let said = said.clone();
                let body = move || {
                    for letter in letters.chars() {
                        said.borrow_mut()[who].push(letter);
                        yield_now();
                    }
                };
                sink.spawn(&Options::new(), body).unwrap().co().unwrap()
            })
            .collect();
        let mut order = String::new();
        let mut ready = Vec::new();
        loop {
            ready.extend(core::iter::from_fn(|| sink.try_next()));
            let length = |co| said.borrow()[all.iter().position(|own| *own == co).unwrap()].len();
            ready.sort_by_key(|co| length(*co));
            if ready.is_empty() {
                return order;
            }
            let next = ready.remove(0);
            order += if next == all[0] { "x" } else { "y" };
            next.attach(Budget::units(100)).unwrap();
        }
    });
    assert_eq!(text, "xyxyxyyyyy");
}

#[test]
fn m48_one_that_sleeps_lets_others_run() {
    let system = leno_kernel::LocalSystem::builder().preemptive().virtual_time().build();
    let order = system.spawn(|| {
        let seen: crate::support::Seen = std::rc::Rc::default();
        let sink = Sink::new();
        for (name, time) in [("slow", 500), ("quick", 200)] {
            let seen = seen.clone();
            drop(sink.spawn(&Options::new(), move || {
                for _ in 0..2 {
                    sleep(Duration::from_millis(time));
                    crate::support::say(&seen, format!("{name} at {:?}", leno_kernel::now()));
                }
            }));
        }
        round_robin(&sink, Budget::units(100));
        seen.take().len()
    });
    system.run().unwrap();
    assert_eq!(order.join().unwrap(), 4);
}

#[test]
fn a_core_in_an_explored_program_is_explored() {
    Explorer::new().exhaustive().most_interruptions(2).check(|| {
        let core = Core::fork("explored").unwrap();
        let sum = core.attach(|| thread::spawn("inner", || 4).join().unwrap() + 1);
        assert_eq!(sum.join().unwrap(), 5);
    });
    let _system = System::new(1).unwrap();
}
