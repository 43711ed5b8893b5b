//@ says: cannot be stored in a coroutine frame
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> bool {
    let stackful = leno::Coroutine::new(|co: &leno::Suspender<(), u32>, ()| co.suspend(1));
    co.suspend(1).await;
    stackful.is_finished()
}

fn main() {}
