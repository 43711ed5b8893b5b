//! A sieve of filters that spawn filters. Nobody says when it is over: when the numbers are used up,
//! the first filter starves, and all others in turn.

use leno::fibre::{Cx, In, channel};

/// Prints the first number, a prime, and passes on what it does not divide.
fn sieve(cx: &Cx<'_>, inp: In<u32>) {
    let prime = inp.read(cx);
    println!("{prime}");
    let (out, rest) = channel();
    cx.spawn(move |cx| sieve(cx, rest));
    for n in inp.iter(cx) {
        if n % prime != 0 {
            out.write(cx, n);
        }
    }
}

fn main() {
    let ran = leno::run(|cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| sieve(cx, inp));
        (2..40).for_each(|n| out.write(cx, n));
    });
    println!("{}", ran.report());
}
