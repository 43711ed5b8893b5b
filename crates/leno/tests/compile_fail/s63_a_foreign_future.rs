//@ says: cannot be awaited in a `#[resumable]` fn
//@ says: an ordinary future has no frame that could be stored
use leno::frame::{Co, resumable};

async fn sleep() {}
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    sleep().await;
    co.suspend(1).await
}

fn main() {}
