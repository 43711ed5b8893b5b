//@ says: a suspension is named by `#[at("name")]`
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    #[at(name)]
    let x = co.suspend(1).await;
    x
}

fn main() {}
