//@ errors: 1
//@ says: Coroutine<(), ()>` stays on its thread: it can be neither sent to another nor used from there
//@ says: a body that has not started can go: keep it with `Builder::unstarted`, send that, and start it there
// A started coroutine may hold anything on its stack.
fn main() {
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
    std::thread::spawn(move || co.resume(()));
}
