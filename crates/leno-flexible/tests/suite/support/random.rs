//! Programs by lot.

use std::ops::Range;

use super::Mode;
use leno_flexible::model::{Body, Operation, Program, Target};

/// Numbers that follow from a seed.
struct Lots(u64);

impl Lots {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// Up to 6 coroutines, 3 threads and 30 operations.
pub(crate) fn random_program(seed: u64, mode: Mode) -> Program {
    let mut lots = Lots(seed);
    let (coroutines, threads) = (1 + lots.below(6), 1 + lots.below(3));
    let mut left = 30 - threads;
    // One more than are there from the beginning: for those that are created.
    let bodies = coroutines + 1;
    let mut program = Program { bodies: Vec::new(), coroutines: Vec::new(), threads: Vec::new() };
    for _ in 0..threads {
        let mut has_made = false;
        let operations = 1 + lots.below(5);
        left -= operations - 1;
        let mut thread = Vec::new();
        for _ in 0..operations {
            let operation = match lots.below(11) {
                0 => Operation::Create(lots.below(bodies)),
                1..=4 => Operation::Call(target(&mut lots, coroutines, has_made)),
                5 => Operation::CallWait(target(&mut lots, coroutines, has_made)),
                6..=7 => Operation::CallLimited(target(&mut lots, coroutines, has_made)),
                8 => Operation::Prod(target(&mut lots, coroutines, has_made)),
                _ => Operation::Kick(target(&mut lots, coroutines, has_made)),
            };
            has_made |= matches!(operation, Operation::Create(_));
            thread.push(operation);
        }
        program.threads.push(thread);
    }
    for n in 0..bodies {
        let operations = lots.below(6).min(left);
        left -= operations;
        program.bodies.push(body(&mut lots, mode, coroutines, n + 1..bodies, operations));
        if n < coroutines {
            program.coroutines.push(n);
        }
    }
    program
}

fn target(lots: &mut Lots, coroutines: usize, has_made: bool) -> Target {
    if has_made && lots.below(3) == 0 {
        Target::Made
    } else {
        Target::Named(lots.below(coroutines))
    }
}

/// Creates only with bodies of `later`, so that programs end.
fn body(
    lots: &mut Lots,
    mode: Mode,
    coroutines: usize,
    later: Range<usize>,
    length: usize,
) -> Body {
    let mut has_made = false;
    let mut operations = Vec::new();
    for _ in 0..length {
        let operation = match lots.below(22) {
            0 if !later.is_empty() => Operation::Create(later.start + lots.below(later.len())),
            1..=4 => Operation::Call(target(lots, coroutines, has_made)),
            5..=7 => Operation::Detach,
            8..=9 => Operation::Resume(target(lots, coroutines, has_made)),
            10..=12 => Operation::Kick(target(lots, coroutines, has_made)),
            13 => Operation::Passivate,
            14..=15 => Operation::CallWait(target(lots, coroutines, has_made)),
            16 if mode == Mode::Home => Operation::CallLimited(target(lots, coroutines, has_made)),
            16 | 17 => Operation::Wait,
            18..=19 => Operation::Prod(target(lots, coroutines, has_made)),
            _ => Operation::Yield,
        };
        has_made |= matches!(operation, Operation::Create(_));
        operations.push(operation);
    }
    let body = Body::new(operations);
    let body = if length > 0 && lots.below(3) == 0 { body.spinning(2) } else { body };
    if lots.below(4) == 0 { body.attached_only() } else { body }
}
