//@ says: mismatched types
//@ says: expected `u32`, found `&str`
// It takes a number.
fn main() {
    let system = leno::flexible::System::new();
    let m = system.create("m", |me: &mut leno::flexible::Me<u32, ()>| me.detach(()));
    m.call("a text").unwrap();
}
