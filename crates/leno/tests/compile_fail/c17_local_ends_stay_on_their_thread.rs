//@ errors: 1
//@ says: what is local stays on its thread: it can be neither sent to another nor used from there
//@ says: within the type `leno::channel::Sender<u32>`
//@ says: for several threads or cores: `leno::channel::shared` makes such channels
// The value could go; the end, which has neither lock nor atomic count, cannot.
fn main() {
    let (tx, _rx) = leno::channel::channel::<u32>();
    std::thread::spawn(move || tx.send(1));
}
