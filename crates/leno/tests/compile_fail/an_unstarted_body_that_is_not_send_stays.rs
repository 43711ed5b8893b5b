//@ says: cannot be sent between threads safely
//@ says: Rc<i32>
fn main() {
    let local = std::rc::Rc::new(1);
    let body = move |_: &leno::Suspender<(), ()>, ()| drop(local);
    let unstarted = leno::Builder::new().unstarted(body);
    std::thread::spawn(move || unstarted.start().is_ok()).join().unwrap();
}
