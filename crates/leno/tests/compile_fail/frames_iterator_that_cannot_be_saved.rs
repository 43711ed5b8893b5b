//@ says: cannot iterate over `Chars<'_>` across a suspension
//@ says: .collect::<Vec<_>>()
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<char, u32>, s: String) -> u32 {
    let mut n = 0;
    for c in s.chars() {
        n += co.suspend(c).await;
    }
    n
}

fn main() {}
