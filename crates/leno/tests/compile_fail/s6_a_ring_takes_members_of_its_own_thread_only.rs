//@ says: cannot be shared between threads safely
//@ says: leno::ring::Scope
fn main() {
    leno::ring::scope(|ring| {
        std::thread::scope(|threads| {
            threads.spawn(|| ring.spawn(|| ()));
        });
    });
}
