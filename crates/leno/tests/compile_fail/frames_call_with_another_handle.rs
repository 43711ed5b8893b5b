//@ says: mismatched types
use leno::frame::{Co, resumable};

#[resumable]
async fn g(co: &mut Co<String, u32>) -> u32 {
    co.suspend("x".into()).await
}
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    g(co).await
}

fn main() {}
