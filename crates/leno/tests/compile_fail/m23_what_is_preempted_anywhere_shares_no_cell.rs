//@ says: `Rc<Cell<i32>>` cannot be sent between threads safely
//@ says: preempt_anywhere
//! Code that may be preempted at any instruction shares nothing with its neighbours that is not `Sync`.
use std::cell::Cell;
use std::rc::Rc;

fn main() {
    let shared = Rc::new(Cell::new(0));
    // SAFETY: it would not be: others have the cell.
    unsafe { leno::process::preempt_anywhere(move || shared.set(1)) };
}
