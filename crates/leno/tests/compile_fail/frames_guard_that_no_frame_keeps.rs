//@ says: `_timer` is not used after a suspension in its scope
//@ says: `drop(_timer)`
use leno::frame::{Co, resumable};

struct Timer;
impl Drop for Timer {
    fn drop(&mut self) {}
}
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let _timer = Timer;
    let a = co.suspend(1).await;
    co.suspend(a).await
}

fn main() {}
