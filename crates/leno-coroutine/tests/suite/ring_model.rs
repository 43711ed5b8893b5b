//! Random programs of ring members and asymmetric coroutines, run on leno and on a small model of
//! the rules; every trace must be the same.
//!
//! The rules: a spawned member is next; a yield makes the running member the last and the first of
//! the queue the running one; yielding to a member takes it out of the queue; a member that ends
//! gives control to the first of the queue; a generator goes back to whoever resumed it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use leno_coroutine::ring::{self, Member};
use leno_coroutine::shared::Stacks;
use leno_coroutine::{Coroutine, Step, Suspender};

#[derive(Clone, Copy, Debug)]
enum Op {
    Yield,
    YieldTo(usize),
    /// Resumes a generator that all members share.
    Resume(usize),
}

#[derive(Debug)]
struct Program {
    members: Vec<Vec<Op>>,
    /// How often each generator suspends before it ends.
    generators: Vec<usize>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

fn program(random: &mut Random, with_generators: bool) -> Program {
    let count = 1 + random.below(5);
    let generators = (0..3).map(|_| random.below(4)).collect();
    let kinds = if with_generators { 3 } else { 2 };
    let mut op = |_| match random.below(kinds) {
        0 => Op::Yield,
        1 => Op::YieldTo(random.below(count)),
        _ => Op::Resume(random.below(3)),
    };
    let members = (0..count).map(|member| (0..(member * 7 + 3) % 9).map(&mut op).collect());
    Program { members: members.collect(), generators }
}

/// What leno does. With shared stacks, most members are on them.
fn run(program: &Rc<Program>, stacks: Option<&Stacks>) -> Vec<String> {
    let log: Rc<RefCell<Vec<String>>> = Rc::default();
    let handles: Rc<RefCell<Vec<Member>>> = Rc::default();
    let generator = |(name, suspends): (usize, &usize)| {
        let suspends = *suspends;
        Rc::new(Coroutine::new(move |co: &Suspender<(), String>, ()| {
            (0..suspends).for_each(|n| co.suspend(format!("g{name}:{n}")));
            format!("g{name} ends")
        }))
    };
    let generators: Vec<_> = program.generators.iter().enumerate().map(generator).collect();
    let body = |name: usize| {
        let (handles, generators) = (handles.clone(), generators.clone());
        let (log, program) = (log.clone(), program.clone());
        move || {
            let note = |text: String| log.borrow_mut().push(text);
            for (n, op) in program.members[name].iter().enumerate() {
                note(format!("{name}.{n}"));
                match *op {
                    Op::Yield => ring::yield_now(),
                    Op::YieldTo(other) => {
                        let other = handles.borrow()[other].clone();
                        if ring::yield_to(&other).is_err() {
                            note("refused".to_owned());
                        }
                    }
                    Op::Resume(k) => match generators[k].try_resume(()) {
                        Ok(Step::Suspended(text) | Step::Finished(text)) => note(text),
                        Err(_) => note("refused".to_owned()),
                    },
                }
            }
            note(format!("{name} ends"));
        }
    };
    ring::scope(|s| {
        for name in 0..program.members.len() {
            let member = match stacks {
                // SAFETY: nobody refers to a member's locals from outside.
                Some(stacks) if name % 3 != 0 => unsafe { stacks.spawn(body(name)) }.unwrap(),
                _ => s.spawn(body(name)),
            };
            handles.borrow_mut().push(member);
        }
        while ring::members().unwrap().len() > 1 {
            log.borrow_mut().push("main".to_owned());
            ring::yield_now();
        }
    });
    log.take()
}

/// What the rules say.
fn model(program: &Program) -> Vec<String> {
    let main = program.members.len();
    let mut log = Vec::new();
    let mut queue: VecDeque<usize> = (0..main).rev().collect();
    let mut next_op = vec![0; main];
    let mut resumed = vec![0; program.generators.len()];
    let mut current = main;
    loop {
        if current == main {
            let Some(next) = queue.pop_front() else { return log };
            log.push("main".to_owned());
            queue.push_back(main);
            current = next;
            continue;
        }
        let Some(op) = program.members[current].get(next_op[current]) else {
            log.push(format!("{current} ends"));
            current = queue.pop_front().expect("main waits");
            continue;
        };
        log.push(format!("{current}.{}", next_op[current]));
        next_op[current] += 1;
        match *op {
            Op::Yield => {
                let next = queue.pop_front().expect("main waits");
                queue.push_back(current);
                current = next;
            }
            Op::YieldTo(other) if other == current => {}
            Op::YieldTo(other) => match queue.iter().position(|waiting| *waiting == other) {
                Some(place) => {
                    queue.remove(place);
                    queue.push_back(current);
                    current = other;
                }
                None => log.push("refused".to_owned()),
            },
            Op::Resume(k) => {
                let (n, suspends) = (resumed[k], program.generators[k]);
                resumed[k] += 1;
                log.push(match n.cmp(&suspends) {
                    std::cmp::Ordering::Less => format!("g{k}:{n}"),
                    std::cmp::Ordering::Equal => format!("g{k} ends"),
                    std::cmp::Ordering::Greater => "refused".to_owned(),
                });
            }
        }
    }
}

fn compare(seed: u64, with_generators: bool, stacks: Option<&Stacks>) {
    let mut random = Random(seed);
    for _ in 0..if cfg!(miri) { 10 } else { 3000 } {
        let program = Rc::new(program(&mut random, with_generators));
        assert_eq!(run(&program, stacks), model(&program), "{program:?}");
    }
}

#[test]
fn f2_symmetric_transfers_follow_the_model() {
    compare(0x9E37_79B9_7F4A_7C15, false, None);
}

#[test]
fn f4_mixed_transfers_follow_the_model() {
    compare(0xD1B5_4A32_D192_ED03, true, None);
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn s30_members_on_shared_stacks_follow_the_model() {
    for limit in 1..=3 {
        compare(0x2545_F491_4F6C_DD1D + limit, true, Some(&Stacks::new(limit as usize)));
    }
}
