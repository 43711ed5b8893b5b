//@ says: what is local stays on its thread
//@ says: within the type `leno::channel::Receiver<u32>`
// Over shared ends the same select, and its future, would be `Send`.
use leno::channel::{Select, channel};

fn main() {
    let (_tx, rx) = channel::<u32>();
    std::thread::scope(|s| {
        let select = Select::new().recv(&rx, |value| value);
        s.spawn(|| leno::kernel::block_on(select.wait_async()));
    });
}
