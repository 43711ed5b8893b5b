//@ says: unsafe
//@ says: Stacks
fn main() {
    let stacks = leno::shared::Stacks::new(1);
    let _ = stacks.coroutine(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
}
