//@ says: name this type
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>, s: impl Clone) {
    co.suspend(1).await;
}

fn main() {}
