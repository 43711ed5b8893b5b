//@ says: cannot be sent between threads safely
//@ says: Rc<
// A local channel carries it, within its thread.
use leno::channel::{channel, shared};
use std::rc::Rc;

fn main() {
    let (_tx, _rx) = channel::<Rc<u32>>();
    let (tx, rx) = shared::channel::<Rc<u32>>();
    std::thread::spawn(move || tx.send(Rc::new(1)));
    drop(rx);
}
