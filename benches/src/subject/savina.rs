//! leno in the `savina` benches: the workloads that its tests check.

#[path = "../../../crates/leno-process/tests/suite/support/workloads.rs"]
mod workloads;

use std::time::Instant;

use leno::{kernel, process as layer};

use crate::contender::{Contender, Failure, Turn};

pub fn savina(name: &'static str, size: u32, cores: u64) -> Vec<Contender> {
    let contender = Contender::measured("leno", move |_| {
        let named = workloads::ALL.iter().find(|(own, ..)| *own == name);
        let (_, workload, _) = *named.ok_or_else(|| Failure::failed("no such workload"))?;
        let system = layer::System::new(cores as usize).map_err(Failure::failed)?;
        let start = Instant::now();
        let operations = workload(system, size);
        Ok(Turn::ns(start.elapsed(), operations))
    });
    vec![contender]
}
