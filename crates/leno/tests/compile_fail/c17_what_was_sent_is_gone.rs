//@ says: borrow of moved value
// Values are moved: whoever has sent one has it no more.
fn main() {
    let (tx, _rx) = leno::channel::bounded::<String>(1);
    let text = String::from("mine");
    tx.send(text).unwrap();
    println!("{text}");
}
