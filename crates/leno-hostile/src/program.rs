//! Programs as data: generated from a seed, numbered, and cut down by leaving operations out.

use std::fmt;

use crate::area;
use crate::rng::Rng;

/// How many scripts a program has.
pub const SCRIPTS: usize = 8;

/// An operation: a row of [`area::acts`] and three small numbers that it interprets.
#[derive(Clone, Copy)]
pub struct Op {
    /// Its row.
    pub act: usize,
    /// Its numbers: mostly an object, a variation, and a script.
    pub args: [u8; 3],
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.args;
        write!(f, "{}({x}, {y}, {z})", area::acts()[self.act].0)
    }
}

/// A program: what the driver does, and what hostile code does wherever it is called.
#[derive(Clone)]
pub struct Program {
    /// What it was made from.
    pub seed: u64,
    /// The driver's operations, each with its number.
    pub main: Vec<(usize, Op)>,
    /// The scripts' operations, each with its number.
    pub scripts: Vec<Vec<(usize, Op)>>,
    /// How many operations it had before any was left out.
    pub whole: usize,
}

impl Program {
    /// Makes the program of a seed: it favours up to three areas.
    pub fn generate(seed: u64) -> Program {
        let mut rng = Rng::new(seed);
        let (areas, wanted) = (area::areas(), area::wanted());
        let favoured: Vec<usize> =
            (0..1 + rng.below(3)).map(|_| wanted[rng.below(wanted.len())]).collect();
        let mut number = 0;
        let mut ops = |rng: &mut Rng, count: usize, misdeeds: usize| {
            let mut list = Vec::new();
            for _ in 0..count {
                let of =
                    if rng.below(100) < misdeeds { 0 } else { favoured[rng.below(favoured.len())] };
                let rows = areas[of].clone();
                let act = rows.start + rng.below(rows.len());
                let args = [rng.number() as u8, rng.number() as u8, rng.number() as u8];
                list.push((number, Op { act, args }));
                number += 1;
            }
            list
        };
        let count = 4 + rng.below(20);
        let main = ops(&mut rng, count, 5);
        let scripts = (0..SCRIPTS)
            .map(|_| {
                let count = 1 + rng.below(4);
                ops(&mut rng, count, 50)
            })
            .collect();
        Program { seed, main, scripts, whole: number }
    }

    /// Leaves out all operations but those kept.
    pub fn keep(mut self, kept: &[usize]) -> Program {
        for list in std::iter::once(&mut self.main).chain(&mut self.scripts) {
            list.retain(|(number, _)| kept.contains(number));
        }
        self
    }

    /// Reads `seed` or `seed:number,number,..`.
    pub fn parse(text: &str) -> Option<Program> {
        let (seed, kept) = text.split_once(':').map_or((text, None), |(s, k)| (s, Some(k)));
        let program = Program::generate(seed.trim().parse().ok()?);
        match kept {
            None => Some(program),
            Some(kept) => {
                let numbers: Option<Vec<usize>> = kept
                    .split(',')
                    .filter(|n| !n.is_empty())
                    .map(|n| n.trim().parse().ok())
                    .collect();
                Some(program.keep(&numbers?))
            }
        }
    }

    /// Returns the numbers of its operations.
    pub fn numbers(&self) -> Vec<usize> {
        let all = std::iter::once(&self.main).chain(&self.scripts);
        all.flatten().map(|(number, _)| *number).collect()
    }

    /// Returns what [`Program::parse`] reads.
    pub fn spec(&self) -> String {
        let numbers = self.numbers();
        if numbers.len() == self.whole {
            return self.seed.to_string();
        }
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        format!("{}:{}", self.seed, numbers.join(","))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, op) in &self.main {
            writeln!(f, "  main     {number:3} {op:?}")?;
        }
        for (script, list) in self.scripts.iter().enumerate() {
            for (number, op) in list {
                writeln!(f, "  script {script} {number:3} {op:?}")?;
            }
        }
        Ok(())
    }
}
