//@ says: cannot be sent between threads safely
//@ says: *const ()
// Detach, resume, passivate and yield are the body's own: no other thread can borrow them.
fn main() {
    let system = leno::flexible::System::new();
    drop(system.create("m", |me: &mut leno::flexible::Me<(), ()>| {
        std::thread::scope(|s| {
            s.spawn(|| me.passivate());
        });
    }));
}
