//@ says: a parameter of a resumable fn is stored in its frame
//@ says: take `String` instead of `&str`
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>, s: &str) -> usize {
    co.suspend(1).await;
    s.len()
}

fn main() {}
