//@ errors: 1
//@ says: Coroutine<(), ()>` stays on its thread: it can be neither sent to another nor used from there
//@ says: of a started one others can have its `status()`
// Only its status may be read from another thread.
fn main() {
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
    std::thread::scope(|s| {
        s.spawn(|| co.is_finished());
    });
}
