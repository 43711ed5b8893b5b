//@ says: `Rc<RefCell<u32>>` cannot be sent between threads safely
//! What two processes could change at once is no argument.
use leno::process::process;
use std::cell::RefCell;
use std::rc::Rc;

struct Counter(u32);

#[process]
impl Counter {
    #[entry]
    fn add(&mut self, n: Rc<RefCell<u32>>) {
        self.0 += *n.borrow();
    }
}

fn main() {}
