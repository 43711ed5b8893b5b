//@ errors: 1
//@ says: what is local stays on its thread: it can be neither sent to another nor used from there
//@ says: for several threads or cores: `leno::channel::shared` makes such channels
//@ says: required by this bound in `System::spawn`
// Which core runs a coroutine is the system's choice, so what it takes along must be for any thread.
fn main() {
    let system = leno::kernel::System::builder().cores(2).build().unwrap();
    let (tx, _rx) = leno::channel::channel::<u32>();
    system.spawn(move || tx.send(1));
}
