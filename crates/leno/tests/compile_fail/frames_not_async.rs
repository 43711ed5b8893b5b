//@ says: a resumable fn must be `async fn`
use leno::frame::{Co, resumable};

#[resumable]
fn f(co: &mut Co<u32, u32>) -> u32 {
    1
}

fn main() {}
