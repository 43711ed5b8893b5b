//@ says: unknown option; there is `id =
use leno::frame::{Co, resumable};

#[resumable(name = "x")]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    co.suspend(1).await
}

fn main() {}
