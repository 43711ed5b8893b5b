//@ says: cannot be sent between threads safely
//@ says: Rc<i32>
fn main() {
    let local = std::rc::Rc::new(1);
    let body = move |co: &leno::Suspender<(), ()>, ()| {
        co.suspend(());
        drop(local);
    };
    let _ = unsafe { leno::Builder::new().migratable(body) };
}
