//! A coroutine that takes no input is an iterator: it counts from 0 to 9.

use leno::Coroutine;

fn main() {
    let counter = Coroutine::new(|co, ()| {
        let mut n = 0;
        while n < 10 {
            co.suspend(n);
            n += 1;
        }
    });
    for n in counter {
        println!("{n}");
    }
}
