//@ says: does not live long enough
fn main() {
    let mut value = 1;
    let co = leno::Coroutine::new(|co: &leno::Suspender<&mut i32, ()>, first: &mut i32| {
        co.suspend(());
        *first = 2;
    });
    co.resume(&mut value);
}
