//@ says: cannot suspend inside an `unsafe` block
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    unsafe { co.suspend(1).await }
}

fn main() {}
