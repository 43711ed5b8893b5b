//@ says: cannot be sent between threads safely
//@ says: Coroutine<(), ()>
// A started coroutine may hold anything on its stack.
fn main() {
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
    std::thread::spawn(move || co.resume(()));
}
