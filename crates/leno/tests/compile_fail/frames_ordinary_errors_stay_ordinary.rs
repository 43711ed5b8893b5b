//@ says: borrow of moved value: `s`
//@ says: mismatched types
//@ says: cannot borrow `v` as mutable
use leno::frame::{Co, resumable};

#[resumable]
async fn moved(co: &mut Co<u32, u32>) -> usize {
    let s = String::from("x");
    drop(s);
    let a = co.suspend(1).await;
    s.len() + a as usize
}
#[resumable]
async fn typed(co: &mut Co<u32, u32>) -> u32 {
    let a = co.suspend(1).await;
    let b: String = a + 1;
    co.suspend(2).await;
    b.len() as u32
}
#[resumable]
async fn unmutable(co: &mut Co<u32, u32>) -> usize {
    let v = Vec::new();
    let a = co.suspend(1).await;
    v.push(a);
    v.len()
}

fn main() {}
