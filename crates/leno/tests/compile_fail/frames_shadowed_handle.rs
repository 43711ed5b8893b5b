//@ says: the coroutine handle cannot be shadowed
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let co = co.suspend(1).await;
    co
}

fn main() {}
