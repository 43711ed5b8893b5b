//@ says: borrow of moved value: `letter`
//! Something unique has one owner: after the call, the process.
use leno::process::{System, process};

struct Printer(usize);

#[process]
impl Printer {
    #[entry]
    fn print(&mut self, letter: Box<String>) {
        self.0 += letter.len();
    }
}

fn main() {
    let system = System::new(1).unwrap();
    let printer = system.start(Printer(0));
    let letter = Box::new(String::from("dear"));
    printer.print(letter).unwrap();
    println!("{}", letter.len());
}
