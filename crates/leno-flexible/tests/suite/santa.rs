//! The Santa Claus problem (Dovland 2006, 6.2), in both forms: nine reindeer all together, elves in threes,
//! reindeer first. How many elves there are is a parameter.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_explore::{Explorer, thread};
use leno_flexible::policy::Pending;
use leno_flexible::synchroniser::chord::{Chords, Post};
use leno_flexible::synchroniser::{NWay, Semaphore};
use leno_flexible::{Flexible, Me, Rule, System, What, spinning};
use leno_kernel::JoinHandle;

const REINDEER: usize = 9;
const GROUP: usize = 3;

/// What Santa is woken for, and by whom.
#[derive(Clone, Debug)]
enum Task {
    Toys(Group),
    Problem(Group),
}

/// Who has come, and where they are unharnessed or let out.
#[derive(Clone, Debug)]
struct Group {
    who: Vec<usize>,
    out: NWay,
}

/// Where they meet, and are told where they will be let out.
#[derive(Clone)]
struct Pole {
    sleigh: NWay<NWay, usize>,
    queue: NWay<NWay, usize>,
    diary: Arc<Diary>,
    tasks: Semaphore,
}

/// What is checked.
#[derive(Default)]
struct Diary {
    awake: AtomicUsize,
    /// Who is with Santa, until they are unharnessed or let out.
    with: Mutex<BTreeSet<(bool, usize)>>,
}

impl Pole {
    fn new(system: &System) -> Pole {
        Pole {
            sleigh: NWay::new(system, "sleigh", REINDEER),
            queue: NWay::new(system, "queue", GROUP),
            diary: Arc::default(),
            tasks: Semaphore::new(system, "tasks", 0),
        }
    }

    /// What Santa does when he is awake. Nothing, if it is over.
    fn work(&self, task: Task) -> Option<()> {
        let diary = &self.diary;
        assert_eq!(diary.awake.fetch_add(1, SeqCst), 0, "Santa does two things at once");
        let (is_toys, Group { who, out }) = match task {
            Task::Toys(team) => (true, team),
            Task::Problem(group) => (false, group),
        };
        let distinct: BTreeSet<_> = who.iter().map(|own| (is_toys, *own)).collect();
        assert_eq!(distinct.len(), if is_toys { REINDEER } else { GROUP });
        for own in distinct {
            assert!(diary.with.lock().unwrap().insert(own), "{own:?} is with Santa already");
        }
        // Meanwhile others gather.
        leno_kernel::sleep(Duration::from_millis(1));
        let out = out.accept(()).ok();
        diary.awake.fetch_sub(1, SeqCst);
        self.tasks.up();
        out.map(drop)
    }

    /// Nobody leaves who is not with Santa.
    fn leave(&self, is_reindeer: bool, number: usize) {
        let was = self.diary.with.lock().unwrap().remove(&(is_reindeer, number));
        assert!(was, "{number} leaves Santa, who has not let it in");
    }

    fn reindeer(&self, number: usize) -> JoinHandle<()> {
        let own = self.clone();
        thread::spawn(format!("reindeer {number}"), move || {
            while let Ok(harness) = own.sleigh.enter(number) {
                if harness.enter(()).is_err() {
                    return;
                }
                own.leave(true, number);
            }
        })
    }

    fn elf(&self, number: usize) -> JoinHandle<()> {
        let own = self.clone();
        thread::spawn(format!("elf {number}"), move || {
            while let Ok(door) = own.queue.enter(number) {
                if door.enter(()).is_err() {
                    return;
                }
                own.leave(false, number);
            }
        })
    }
}

/// A thread that waits for a group, wakes Santa for it by `ring`, and waits until they are out again.
fn gather(
    system: &System,
    name: &str,
    group: &NWay<NWay, usize>,
    ring: impl Fn(Group) -> Option<()> + Send + 'static,
) -> JoinHandle<()> {
    let out: NWay = NWay::new(system, &format!("{name}.out"), group.n());
    let group = group.clone();
    thread::spawn(name.to_owned(), move || {
        let come = || Some(Group { who: group.accept(out.clone()).ok()?, out: out.clone() });
        while let Some(()) = come().and_then(&ring) {}
    })
}

/// Until Santa has done some things, whichever; some schedules let only elves come.
fn watch(pole: &Pole) {
    (0..4).for_each(|_| pole.tasks.down().unwrap());
}

fn animals(pole: &Pole, elves: usize) -> Vec<JoinHandle<()>> {
    let reindeer = (0..REINDEER).map(|number| pole.reindeer(number));
    reindeer.chain((0..elves).map(|number| pole.elf(number))).collect()
}

/// Santa is a thread, and his doorbell a chord for each who may ring: that of the reindeer comes first.
fn with_threads(elves: usize, passed: &Arc<AtomicUsize>) {
    let system = System::new();
    let pole = Pole::new(&system);
    let door = Chords::new(&system, "doorbell");
    let awake = door.enquiry::<(), (Task, Semaphore)>("awake");
    let toys = door.post::<(Group, Semaphore)>("toys");
    let problem = door.post::<(Group, Semaphore)>("problem");
    let (reindeer, others, passed) = (toys.clone(), problem.clone(), passed.clone());
    door.chord(&awake, &toys, move |(), (team, done)| {
        passed.fetch_add(others.pending(), SeqCst);
        (Task::Toys(team), done)
    });
    door.chord(&awake, &problem, move |(), (group, done)| {
        assert_eq!(reindeer.pending(), 0, "elves go first though reindeer wait");
        (Task::Problem(group), done)
    });
    let own = pole.clone();
    let santa = thread::spawn("santa", move || {
        while let Ok((task, done)) = awake.call(()) {
            if own.work(task).is_none() {
                return;
            }
            done.up();
        }
    });
    let ring = |name: &str, bell: &Post<(Group, Semaphore)>| {
        let (done, bell) = (Semaphore::new(&system, name, 0), bell.clone());
        move |group| {
            bell.send((group, done.clone())).ok()?;
            done.down().ok()
        }
    };
    let sleigh = gather(&system, "sleigh", &pole.sleigh, ring("sleigh.done", &toys));
    let queues =
        ["queue 1", "queue 2"].map(|name| gather(&system, name, &pole.queue, ring(name, &problem)));
    let all = animals(&pole, elves);
    watch(&pole);
    drop(system);
    all.into_iter().chain(queues).chain([santa, sleigh]).for_each(|own| own.join().unwrap());
}

/// Santa is a coroutine that is called with his task, in a system of his own; whom he serves next is his
/// policy.
fn with_a_coroutine(elves: usize, passed: &Arc<AtomicUsize>) {
    let (meetings, passed) = (System::new(), passed.clone());
    let pole = Pole::new(&meetings);
    let is_sleigh = |own: &Pending| own.from.name() == "sleigh";
    let home = System::builder().observer_with_snapshots(move |event, seen| {
        if event.what != What::Applied(Rule::AttachCall) {
            return;
        }
        let waiting = &seen.get("santa").expect("he is at home").requests;
        match event.by.name() {
            "sleigh" => drop(passed.fetch_add(waiting.len(), SeqCst)),
            _ => assert!(!waiting.iter().any(is_sleigh), "elves go first though reindeer wait"),
        }
    });
    let home = home.build();
    let reindeer_first =
        move |pending: &[Pending]| pending.iter().position(is_sleigh).unwrap_or_default();
    let own = pole.clone();
    let santa: Flexible<Task, ()> =
        home.coroutine("santa").serve(reindeer_first).create(spinning(move |me: &mut Me<_, _>| {
            if let Some(task) = me.parameter() {
                own.work(task);
            }
            me.detach(());
        }));
    let calls = santa.clone();
    let toys = move |team| calls.call(Task::Toys(team)).ok();
    let sleigh = gather(&meetings, "sleigh", &pole.sleigh, toys);
    let queues = ["queue 1", "queue 2"].map(|name| {
        let calls = santa.clone();
        let problem = move |group| calls.call(Task::Problem(group)).ok();
        gather(&meetings, name, &pole.queue, problem)
    });
    let all = animals(&pole, elves);
    watch(&pole);
    drop((meetings, home));
    all.into_iter().chain(queues).chain([sleigh]).for_each(|own| own.join().unwrap());
}

/// Explores one of them. That reindeer pass elves who wait happens in some of the runs.
fn explore(runs: u64, elves: usize, form: fn(usize, &Arc<AtomicUsize>)) {
    let passed = Arc::new(AtomicUsize::new(0));
    let own = passed.clone();
    let seen = Explorer::new().runs(runs).run(move || form(elves, &own));
    let seen = seen.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{seen}, elves passed {} times", passed.load(SeqCst));
    assert!(passed.load(SeqCst) > 0, "in no run did elves and reindeer wait at the same time");
}

#[test]
fn f86_f88_santa_with_threads() {
    explore(60, 10, with_threads);
}

#[test]
fn f87_f88_santa_as_a_coroutine() {
    explore(60, 10, with_a_coroutine);
}

#[test]
fn e11_as_many_elves_as_one_likes() {
    for elves in [3, 11] {
        explore(20, elves, with_a_coroutine);
        explore(20, elves, with_threads);
    }
}
