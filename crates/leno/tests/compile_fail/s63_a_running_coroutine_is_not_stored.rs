//@ says: cannot borrow
//@ says: mutable more than once at a time
use leno::frame::{Co, Resumable, resumable};

type Running = Resumable<u32, u32, u32, Option<Vec<u8>>>;
#[resumable]
async fn f(co: &mut Co<u32, u32, Option<Vec<u8>>>) -> u32 {
    co.suspend(1).await
}
fn store(running: &mut Running) {
    let (other, input) = (&mut *running, 1);
    running.resume(&mut None, { let _ = other.snapshot(leno::frame::Format::Json); input });
    let _ = other;
}

fn main() {}
