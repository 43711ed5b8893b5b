//@ says: unsafe
//@ says: migratable
fn main() {
    let _ = leno::Builder::new().migratable(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
}
