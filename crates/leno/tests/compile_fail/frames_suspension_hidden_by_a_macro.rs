//@ says: this suspension is awaited where `#[resumable]` cannot see it
use leno::frame::{Co, resumable};

macro_rules! ask {
    ($co:ident, $e:expr) => {
        $co.suspend($e).await
    };
}
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let a = ask!(co, 1);
    a
}

fn main() {}
