fn main() {
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
    let status = co.status();
    std::thread::spawn(move || status.is_finished()).join().unwrap();
}
