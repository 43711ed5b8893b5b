use leno::channel::{Select, shared};
use std::sync::Arc;

fn main() {
    let (tx, rx) = shared::channel::<Arc<str>>();
    let waits = std::thread::spawn(move || {
        leno::kernel::block_on(async move { Select::new().recv(&rx, |v| v).wait_async().await })
    });
    tx.send("shared, and nobody changes it".into()).unwrap();
    drop(waits.join());
}
