//@ says: cannot be stored in a coroutine frame
//@ says: MutexGuard
use leno::frame::{Co, resumable};

use std::sync::Mutex;
static LOCK: Mutex<u32> = Mutex::new(1);
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let guard = LOCK.lock().unwrap();
    let a = co.suspend(1).await;
    a + *guard
}

fn main() {}
