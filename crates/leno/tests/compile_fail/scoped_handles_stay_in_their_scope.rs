//@ says: lifetime
fn main() {
    let escaped = leno::scope(|s| s.coroutine(|co: &leno::Suspender<(), ()>, ()| co.suspend(())));
    escaped.resume(());
}
