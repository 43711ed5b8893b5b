//@ says: cannot be sent between threads safely
//@ says: Rc<
// The value could go; the end, which has neither lock nor atomic count, cannot.
fn main() {
    let (tx, _rx) = leno::channel::channel::<u32>();
    std::thread::spawn(move || tx.send(1));
}
