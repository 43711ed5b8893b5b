//@ says: `text` does not live long enough
//@ says: borrowed for `'static`
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> usize {
    let text = String::from("abc");
    let first = text.split('b').next().unwrap();
    let a = co.suspend(1).await;
    first.len() + a as usize
}

fn main() {}
