//@ says: cannot suspend inside a closure
//@ says: write `let v = <the call>.await;` before it
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> Vec<u32> {
    let v = vec![1, 2, 3];
    v.into_iter().map(|x| co.suspend(x).await).collect()
}

fn main() {}
