//@ says: use of moved value: `data`
//! The state of a process is moved into it; another cannot have the same.
use leno::process::{System, process};

struct Owner(Vec<u32>);

#[process]
impl Owner {
    #[entry]
    fn add(&mut self, n: u32) {
        self.0.push(n);
    }
}

fn main() {
    let system = System::new(1).unwrap();
    let data = vec![1, 2, 3];
    let _one = system.start(Owner(data));
    let _two = system.start(Owner(data));
}
