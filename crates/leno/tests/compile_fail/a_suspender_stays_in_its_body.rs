//@ says: borrowed data escapes
fn main() {
    let mut slot: Option<&leno::Suspender<(), ()>> = None;
    leno::scope(|s| {
        let co = s.coroutine(|co: &leno::Suspender<(), ()>, ()| slot = Some(co));
        co.resume(());
    });
}
