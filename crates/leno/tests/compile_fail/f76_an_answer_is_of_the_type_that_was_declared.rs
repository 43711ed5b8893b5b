//@ says: mismatched types
//@ says: expected `String`, found `()`
// It answers with a text: nothing is no text.
fn main() {
    let system = leno::flexible::System::new();
    drop(system.create("m", |me: &mut leno::flexible::Me<(), String>| me.detach(())));
}
