//@ says: a resumable fn of a trait cannot have a body here
use leno::frame::{Co, resumable};

#[resumable]
trait A {
    async fn f(self, co: &mut Co<u32, u32>) -> u32 {
        co.suspend(1).await
    }
}

fn main() {}
