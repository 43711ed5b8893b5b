//@ says: no method named `reset` found for struct `CounterRef`
//! What is no entry is the process's own.
use leno::process::{System, process};

struct Counter(u32);

#[process]
impl Counter {
    #[entry]
    fn add(&mut self, n: u32) {
        self.0 += n;
        if self.0 > 100 {
            self.reset();
        }
    }

    pub fn reset(&mut self) {
        self.0 = 0;
    }
}

fn main() {
    let system = System::new(1).unwrap();
    let counter = system.start(Counter(0));
    counter.add(1).unwrap();
    counter.reset();
}
