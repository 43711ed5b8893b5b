//@ says: cannot be shared between threads safely
//@ says: Cx<'_>
// A thread is no fibre, even if its fibre waits for it.
fn main() {
    leno::run(|cx| {
        std::thread::scope(|scope| {
            scope.spawn(|| cx.yield_now());
        });
    });
}
