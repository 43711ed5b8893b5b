//@ says: an argument of an entry is moved to the process
//@ says: not a reference
//! The caller goes on while the call waits: what it lends might be gone.
use leno::process::process;

struct Display(String);

#[process]
impl Display {
    #[entry]
    fn show(&mut self, text: &str) {
        self.0 += text;
    }
}

fn main() {}
