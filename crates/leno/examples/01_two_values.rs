//! A coroutine that gives two values, each from its own place in the code, and returns a third.
//! There is no state machine: the place where it goes on is the state.

use leno::Coroutine;

fn main() {
    let next = Coroutine::new(|co, ()| {
        co.suspend("Alpher");
        co.suspend("Bethe");
        "Gamow"
    });
    println!("{}", next.resume(()).into_value());
    println!("{}", next.resume(()).into_value());
    println!("{}", next.resume(()).into_value());
    println!("finished: {}", next.is_finished());
}
