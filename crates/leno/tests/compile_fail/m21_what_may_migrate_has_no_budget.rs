//@ says: no method named `attach` found for struct `Migrant<
//! Units are counted by a thread: only a coroutine that stays on its core is attached with a budget.
use leno::process::Budget;

fn main() {
    let body = |co: &leno::Suspender<(), u32>, ()| co.suspend(1);
    // SAFETY: nothing in it is bound to a thread.
    let migrant = unsafe { leno::Builder::new().migratable(body) }.unwrap();
    migrant.attach(Budget::units(100)).unwrap();
}
