//@ says: `&mut u32` cannot be stored in a coroutine frame
//@ says: own its data (no borrows)
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let mut v = vec![1u32, 2];
    let first = &mut v[0];
    let a = co.suspend(1).await;
    *first += a;
    v[0]
}

fn main() {}
