//@ says: cannot be sent between threads safely
//@ says: Guard<'_, u32>
fn main() {
    let lock = leno::migrate::Lock::new(7_u32);
    let guard = lock.lock();
    std::thread::scope(|s| {
        s.spawn(move || drop(guard));
    });
}
