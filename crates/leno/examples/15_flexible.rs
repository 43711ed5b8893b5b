//! Coroutines that threads can call: a till that serves one customer at a time, in order, and a cook
//! whom it calls in turn. No lock is seen: at most one coroutine of a system is active.

use leno::flexible::{Me, System, spinning};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new();
    let cook = system.create(
        "cook",
        spinning(|me: &mut Me<&str, String>| {
            let dish = me.parameter().unwrap_or("nothing");
            me.yield_now(); // it takes a while; others may be active meanwhile
            me.detach(format!("a warm {dish}"));
        }),
    );
    let kitchen = cook.clone();
    let till = system.create("till", move |me: &mut Me<&str, String>| {
        for number in 1.. {
            let order = me.parameter().unwrap_or("nothing");
            let meal = kitchen.call(order).unwrap_or_else(|error| error.to_string());
            me.detach(format!("{number}: {meal}"));
        }
    });

    // From any thread; each gets its own answer.
    println!("{}", till.call("soup")?);
    let other = till.clone();
    let guest = std::thread::spawn(move || other.call("pie"));
    println!("{}", guest.join().expect("it does not panic")?);
    println!("{}", till.call("tart")?);

    // Who is doing what, and what is refused.
    println!("{}", system.snapshot());
    let twice = till.clone();
    let greedy = system.create("greedy", move |me: &mut Me<(), String>| {
        twice.kick().expect("the till is open");
        me.answer(twice.call("cake").expect_err("the till is busy now").to_string());
    });
    println!("{}", greedy.call(())?);
    Ok(())
}
