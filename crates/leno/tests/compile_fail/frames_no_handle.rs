//@ says: the first parameter of a resumable fn is the coroutine handle
use leno::frame::{Co, resumable};

#[resumable]
async fn f(x: u32) -> u32 {
    x
}

fn main() {}
