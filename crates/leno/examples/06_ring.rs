//! Symmetric coroutines: the main program is a member of its ring like any other, and control
//! goes round.

use leno::ring;

fn main() {
    ring::spawn(|| {
        println!("member running 1");
        ring::yield_now();
        println!("member running 2");
    });
    println!("start");
    ring::yield_now();
    println!("middle");
    ring::yield_now();
    println!("end");
}
