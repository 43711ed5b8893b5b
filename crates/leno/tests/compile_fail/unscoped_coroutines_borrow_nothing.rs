//@ says: borrowed
//@ says: text
// A handle can be forgotten, so a borrow could outlive what it borrows. Use `scope`.
fn main() {
    let text = String::from("short-lived");
    let co = leno::Coroutine::new(|co: &leno::Suspender<(), usize>, ()| co.suspend(text.len()));
    co.resume(());
}
