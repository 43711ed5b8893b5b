fn main() {
    let unstarted = leno::Builder::new().unstarted(|co: &leno::Suspender<(), ()>, ()| co.suspend(()));
    std::thread::spawn(move || unstarted.start().is_ok()).join().unwrap();
}
