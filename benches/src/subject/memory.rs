//! leno in `memory`: stacks of 16 KiB, stacks of the default size, shared stacks.

use leno::{Builder, Suspender, shared};

use crate::bench::hop::SHARED_STACKS;
use crate::bench::memory::weigh;
use crate::bench::rings::STACK;
use crate::contender::Contender;

pub fn memory() -> Vec<Contender> {
    let small = || Builder::new().stack_size(STACK);
    vec![own("leno", small), own("leno default", Builder::new), on_shared_stacks()]
}

fn own(name: &'static str, builder: fn() -> Builder) -> Contender {
    Contender::measured(name, move |n| {
        weigh(n, || {
            let body = |co: &Suspender<(), ()>, ()| co.suspend(());
            let co = builder().coroutine(body).map_err(|e| e.to_string())?;
            co.resume(());
            Ok(co)
        })
    })
}

fn on_shared_stacks() -> Contender {
    Contender::measured("leno shared", |n| {
        let homes = shared::Stacks::new(SHARED_STACKS as usize);
        let turn = weigh(n, || {
            let body = |co: &Suspender<(), ()>, ()| co.suspend(());
            // SAFETY: the body lends nothing from its stack to anybody.
            let co = unsafe { homes.coroutine(body) }.map_err(|e| e.to_string())?;
            co.resume(());
            Ok(co)
        });
        // The coroutines are still on these stacks; the process ends after this turn.
        std::mem::forget(homes);
        turn
    })
}
