//@ says: cannot borrow `*co` as mutable more than once at a time
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32, Vec<u32>>) -> usize {
    let db = co.ctx();
    db.push(1);
    let a = co.suspend(1).await;
    db.push(a);
    0
}

fn main() {}
