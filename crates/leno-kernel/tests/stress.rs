//! Random work on two cores, for `LENO_STRESS_SECONDS` (one by default): whatever was spawned is
//! accounted for, every join comes back, and nothing is lost. Not in `suite`: the stress leg builds it with optimisations.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leno_kernel::{
    Co, Options, Reason, System, Wake, block_on, cancel, current, exit, park_until, scope, sleep,
    spawn, spawn_future, spawn_local, unpark, yield_now,
};

fn seconds() -> u64 {
    std::env::var("LENO_STRESS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[derive(Clone)]
struct World {
    /// Anyone may be unparked or cancelled by anyone, at any time.
    known: Arc<Mutex<Vec<Co>>>,
    bodies: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
}

struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

impl World {
    /// Something that is dropped when the body is, however it ends.
    fn counted(&self) -> Counted {
        self.bodies.fetch_add(1, SeqCst);
        Counted(self.dropped.clone())
    }

    fn someone(&self, random: &mut Random) -> Option<Co> {
        let known = self.known.lock().unwrap();
        let len = known.len() as u64;
        (len > 0).then(|| known[random.below(len) as usize])
    }

    fn meet(&self) {
        let mut known = self.known.lock().unwrap();
        known.push(current().unwrap());
        if known.len() > 64 {
            known.swap_remove(0);
        }
    }

    fn work(&self, seed: u64, depth: u64) {
        let mut random = Random(seed | 1);
        self.meet();
        for _ in 0..random.below(8) {
            let next = random.below(u64::MAX);
            match random.below(if depth == 0 { 6 } else { 11 }) {
                0 => yield_now(),
                1 => sleep(Duration::from_micros(random.below(200))),
                2 => {
                    let soon = leno_kernel::layer::deadline_in(Duration::from_micros(200));
                    if park_until(Reason::Passive, soon) == Wake::Exit {
                        exit();
                    }
                }
                3 | 4 => self.someone(&mut random).into_iter().for_each(unpark),
                5 => {
                    if random.below(8) == 0 {
                        self.someone(&mut random).into_iter().for_each(cancel);
                    }
                }
                6 => drop(self.child(next, depth)),
                7 => drop(self.child(next, depth).join()),
                8 => drop(block_on(self.child(next, depth))),
                9 => {
                    let (world, counted) = (self.clone(), self.counted());
                    let child = spawn_local(move || {
                        let _counted = counted;
                        world.work(next, depth - 1);
                    });
                    drop(child.join());
                }
                _ => scope(|s| {
                    for n in 0..2 {
                        let counted = self.counted();
                        s.spawn(move || {
                            let _counted = counted;
                            self.work(next ^ n, depth - 1);
                        });
                    }
                }),
            }
        }
    }

    fn child(&self, seed: u64, depth: u64) -> leno_kernel::JoinHandle<()> {
        let (world, counted) = (self.clone(), self.counted());
        if seed.is_multiple_of(5) {
            return spawn_future(async move {
                let _counted = counted;
                std::future::ready(world.bodies.load(SeqCst)).await;
            });
        }
        spawn(move || {
            let _counted = counted;
            world.work(seed, depth - 1);
        })
    }
}

#[test]
fn whatever_is_spawned_is_accounted_for() {
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    let mut total = 0;
    while Instant::now() < end {
        let world =
            World { known: Arc::default(), bodies: Arc::default(), dropped: Arc::default() };
        let system = System::new(2).unwrap();
        for _ in 0..if cfg!(miri) { 2 } else { 50 } {
            seed = Random(seed).below(u64::MAX) | 1;
            let (world, counted, seed) = (world.clone(), world.counted(), seed);
            drop(system.spawn_with(&Options::new().stack_size(32 * 1024), move || {
                let _counted = counted;
                world.work(seed, 3);
            }));
        }
        let report = if seed.is_multiple_of(3) {
            // In the middle of everything.
            system.shutdown(Duration::from_secs(60)).unwrap()
        } else {
            system.wait().unwrap()
        };
        let ended = report.returned + report.exited + report.panicked + report.removed;
        assert_eq!((report.panicked, report.alive.len(), report.given_up), (0, 0, 0), "{report}");
        if !seed.is_multiple_of(3) {
            assert_eq!(report.spawned, ended, "{report}");
            assert_eq!(world.bodies.load(SeqCst), ended, "{report}");
        }
        assert_eq!(world.bodies.load(SeqCst), world.dropped.load(SeqCst), "{report}");
        total += ended;
    }
    println!("{total} coroutines");
}
