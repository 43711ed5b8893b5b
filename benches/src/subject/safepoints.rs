//! leno in the `safepoint` benches: the same functions with the attribute.

use leno::process::preemptible;

use crate::bench::safepoints::Work;
use crate::contender::Contender;

crate::bench::safepoints::loops!(#[preemptible]);

pub fn safepoints(work: Work) -> Vec<Contender> {
    vec![contender("leno", work)]
}
