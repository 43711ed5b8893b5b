//@ says: cannot suspend on the left of `=`
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<usize, usize>) -> Vec<u32> {
    let mut v = vec![1, 2];
    v[co.suspend(1).await] = 3;
    v
}

fn main() {}
