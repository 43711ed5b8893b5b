//@ says: cannot be shared between threads safely
//@ says: Suspender
fn main() {
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), ()>, ()| {
        std::thread::scope(|s| {
            s.spawn(|| co.suspend(()));
        });
    });
    co.resume(());
}
