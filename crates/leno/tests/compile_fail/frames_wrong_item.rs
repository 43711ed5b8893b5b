//@ says: `#[resumable]` goes on an `async fn`
use leno::frame::resumable;

#[resumable]
struct A;

fn main() {}
