//@ says: `RefCell<Vec<u32>>` cannot be shared between threads safely
//! A global that two processes could use at once does not exist, unless it takes care of that itself.
use leno::process::process;
use std::cell::RefCell;

static LIST: RefCell<Vec<u32>> = RefCell::new(Vec::new());

struct Writer;

#[process]
impl Writer {
    #[entry]
    fn write(&mut self, n: u32) {
        LIST.borrow_mut().push(n);
    }
}

fn main() {}
