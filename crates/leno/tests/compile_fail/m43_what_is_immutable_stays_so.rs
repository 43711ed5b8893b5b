//@ says: cannot borrow data in an `Arc` as mutable
//! Something immutable may be an argument of several calls, and nobody changes it.
use leno::process::process;
use std::sync::Arc;

struct Reader(usize);

#[process]
impl Reader {
    #[entry]
    fn read(&mut self, list: Arc<Vec<u32>>) {
        self.0 += list.len();
        list.push(1);
    }
}

fn main() {}
