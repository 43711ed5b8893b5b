//@ says: cannot be stored in a coroutine frame
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let k = 3;
    let add = move |x: u32| x + k;
    let a = co.suspend(1).await;
    add(a)
}

fn main() {}
