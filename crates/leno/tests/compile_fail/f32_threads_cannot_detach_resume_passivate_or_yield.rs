//@ says: no method named `detach` found
//@ says: no method named `resume` found
//@ says: no method named `passivate` found
//@ says: no method named `yield_now` found
// A handle has call and kick; what only a body can do is not there.
fn main() {
    let system = leno::flexible::System::new();
    let m = system.create("m", |_: &mut leno::flexible::Me<(), ()>| {});
    m.detach(());
    m.resume(&m);
    m.passivate();
    m.yield_now();
}
