//@ says: a call of a resumable fn does nothing unless awaited
#![deny(unused_must_use)]
use leno::frame::{Co, resumable};

#[resumable]
async fn g(co: &mut Co<u32, u32>) -> u32 {
    co.suspend(1).await
}
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    g(co);
    co.suspend(2).await
}

fn main() {}
