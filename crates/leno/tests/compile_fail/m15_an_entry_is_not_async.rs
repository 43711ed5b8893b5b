//@ says: an entry is served on the process's own stack: it is not async
//! The process serves one call at a time.
use leno::process::process;

struct Slow;

#[process]
impl Slow {
    #[entry]
    async fn wait(&mut self) {}
}

fn main() {}
