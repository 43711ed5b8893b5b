//@ says: `T` cannot be stored in a coroutine frame
use leno::frame::{Co, resumable};

#[resumable]
async fn f<T: Send + Clone + 'static>(co: &mut Co<u32, u32>, t: T) -> T {
    co.suspend(1).await;
    t
}

fn main() {}
