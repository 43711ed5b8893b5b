//@ says: no field `count` on type `CounterRef`
//! Others have the entries of a process, not its state.
use leno::process::{System, process};

struct Counter {
    count: u32,
}

#[process]
impl Counter {
    #[entry]
    fn add(&mut self, n: u32) {
        self.count += n;
    }
}

fn main() {
    let system = System::new(1).unwrap();
    let counter = system.start(Counter { count: 0 });
    counter.add(1).unwrap();
    counter.count += 1;
}
