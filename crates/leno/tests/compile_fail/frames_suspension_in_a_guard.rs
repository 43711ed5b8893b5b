//@ says: cannot suspend in a match guard
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    match 1 {
        x if co.suspend(x).await > 1 => 1,
        _ => 0,
    }
}

fn main() {}
