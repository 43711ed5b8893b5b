//! A coroutine that gives `&'static str` serves where shorter ones are wanted, and one that takes
//! any `&str`-producing input serves where `'static` ones are given.
use leno::{Coroutine, Suspender};

fn shorten<'a>(co: Coroutine<(), &'static str>, _: &'a str) -> Coroutine<(), &'a str> {
    co
}

fn suspender<'a, 'b>(
    co: &'b Suspender<&'static str, &'a str>,
) -> &'b Suspender<&'a str, &'static str> {
    co
}

fn main() {
    let text = String::from("local");
    let co = Coroutine::new(|co: &Suspender<(), &'static str>, ()| co.suspend("static"));
    shorten(co, &text).resume(());
    let _ = suspender;
}
