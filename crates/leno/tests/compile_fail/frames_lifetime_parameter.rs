//@ says: a resumable fn cannot have lifetime parameters
use leno::frame::{Co, resumable};

#[resumable]
async fn f<'a>(co: &mut Co<u32, u32>, x: std::borrow::Cow<'a, str>) -> u32 {
    co.suspend(1).await
}

fn main() {}
