//@ says: cannot suspend in the middle of a `let` chain
//@ says: nest the conditions
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>, o: Option<u32>) -> u32 {
    if let Some(x) = o && co.suspend(x).await > 1 { 1 } else { 0 }
}

fn main() {}
