//@ says: a resumable method cannot borrow `self`
//@ says: make the object the context
use leno::frame::{Co, resumable};

struct A {
    n: u32,
}
#[resumable]
impl A {
    async fn f(&mut self, co: &mut Co<u32, u32>) -> u32 {
        self.n += co.suspend(1).await;
        self.n
    }
}

fn main() {}
