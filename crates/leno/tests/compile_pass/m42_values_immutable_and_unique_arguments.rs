//! Values, shared immutable data, unique data, and references to processes are arguments.
use leno::process::{Me, Plan, System, process};
use std::sync::Arc;

pub struct Clerk(u32);

#[process(pub)]
impl Clerk {
    /// Documented as any method.
    #[entry]
    pub fn all(&mut self, value: u32, shared: Arc<Vec<u32>>, unique: Box<u32>, other: ClerkRef) -> u32 {
        let _ = other.nothing();
        self.0 += value + shared[0] + *unique;
        self.0
    }

    #[entry(when = self.0 > 0)]
    fn nothing(&mut self) {}

    #[body]
    fn begin(&mut self, _me: &Me<Self>) {}
}

fn main() {
    let system = System::new(1).unwrap();
    let clerk = system.start_with(Plan::new().name("clerk"), Clerk(1));
    let list = Arc::new(vec![1]);
    clerk.all(1, list.clone(), Box::new(2), clerk.clone()).unwrap().wait().unwrap();
    drop(list);
}
