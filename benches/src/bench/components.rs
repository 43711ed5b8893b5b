//! A machine control: components that each do one small step per cycle and then wait for the next.
//! Stadler (2011) ran hundreds of them in a cycle of one millisecond at a tenth to a fifth of its
//! time; here the figure is how many whole cycles of 300 components fit into a millisecond.

use std::hint::black_box;

use super::{Bench, Case, Chart, Load, rings};
use crate::contender::Contender;
use crate::number;
use crate::outcome::Verdict;

const COMPONENTS: u64 = 300;

pub const MACHINE_CONTROL: Bench = Bench {
    name: "components",
    unit: "cycles/ms",
    about: "one step of each of 300 components of a machine control; more is better",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = rings::all(COMPONENTS, step);
        contenders.retain(|c| c.name != "leno shared");
        contenders.push(dyn_call());
        let per_ms = |ns_a_step: f64| 1e6 / (ns_a_step * COMPONENTS as f64);
        vec![Case {
            parameter: None,
            load: Load::Fixed(COMPONENTS * scale.pick(500, 5_000)),
            isolated: false,
            rounds: None,
            contenders: contenders.into_iter().map(|c| c.in_unit(per_ms)).collect(),
        }]
    },
    judge: |outcome| {
        let cycles = outcome.case(None).and_then(|c| c.median("leno"));
        let verdict = cycles.map(|cycles| Verdict {
            text: format!("{COMPONENTS} components need <= 10 % of a cycle of 1 ms"),
            measured: format!("{} %", number::ratio(100.0 / cycles)),
            met: Some(cycles >= 10.0),
        });
        verdict.into_iter().collect()
    },
};

/// A position moves a fraction of its way towards a set point: the arithmetic of a controller.
fn step(state: u64) -> u64 {
    let (position, set_point) = (state as i32, (state >> 32) as i32);
    let moved = position.wrapping_add(set_point.wrapping_sub(position) / 8);
    u64::from(moved as u32) | (u64::from(set_point.wrapping_add(moved) as u32) << 32)
}

/// The same components as hand-written state machines, called through a table.
fn dyn_call() -> Contender {
    trait Component {
        fn step(&mut self);
    }
    struct Controller(u64);
    impl Component for Controller {
        fn step(&mut self) {
            self.0 = step(self.0);
        }
    }
    let mut all: Vec<Box<dyn Component>> =
        (0..COMPONENTS).map(|i| Box::new(Controller(i)) as Box<dyn Component>).collect();
    Contender::timed("dyn call", move |steps| {
        for _ in 0..steps / COMPONENTS {
            black_box(&mut all).iter_mut().for_each(|component| component.step());
        }
    })
}
