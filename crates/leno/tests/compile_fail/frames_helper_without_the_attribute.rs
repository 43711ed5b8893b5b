//@ errors: 2
//@ says: can be awaited only in a `#[resumable]` fn
//@ says: write `#[resumable]` above the `async fn` that this `.await` is in
//@ says: Future<Output = u32>` cannot be awaited in a `#[resumable]` fn
//@ says: if this is an `async fn` of yours that suspends, write `#[resumable]` above it
use leno::frame::{Co, resumable};

async fn number(co: &mut Co<String, u32>, question: String) -> u32 {
    co.suspend(question).await
}

#[resumable]
async fn area(co: &mut Co<String, u32>) -> u32 {
    let width = number(co, "width?".into()).await;
    width * co.suspend("height?".into()).await
}

fn main() {}
