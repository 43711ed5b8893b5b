//@ says: cannot be shared between threads safely
//@ says: Coroutine<(), ()>
// Only its status may be read from another thread.
fn main() {
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
    std::thread::scope(|s| {
        s.spawn(|| co.is_finished());
    });
}
