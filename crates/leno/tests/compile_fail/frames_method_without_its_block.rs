//@ says: for methods, put `#[resumable]` on the `impl` block
use leno::frame::{Co, resumable};

struct A;
impl A {
    #[resumable]
    async fn f(self, co: &mut Co<u32, u32>) -> u32 {
        co.suspend(1).await
    }
}

fn main() {}
