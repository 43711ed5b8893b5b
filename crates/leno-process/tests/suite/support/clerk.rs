//! A process that writes down what it is told.

use std::sync::{Arc, Mutex};

use leno_process::{charge, process};

pub(crate) type Seen = Arc<Mutex<Vec<String>>>;

pub(crate) fn say(seen: &Seen, word: impl ToString) {
    seen.lock().unwrap().push(word.to_string());
}

pub(crate) fn text(seen: &Seen) -> String {
    seen.lock().unwrap().join(" ")
}

/// Writes down what it is told.
#[derive(Default)]
pub(crate) struct Clerk {
    pub(crate) seen: Seen,
    pub(crate) sum: i32,
}

#[process(pub(crate))]
impl Clerk {
    #[entry]
    pub(crate) fn note(&mut self, n: i32) {
        charge(3);
        self.sum += n;
        say(&self.seen, n);
    }

    #[entry]
    pub(crate) fn pair(&mut self, word: String, n: i32) {
        say(&self.seen, format!("{word}{n}"));
    }

    #[entry]
    pub(crate) fn sum(&mut self) -> i32 {
        self.sum
    }

    #[entry]
    pub(crate) fn fail(&mut self) -> i32 {
        panic!("planned")
    }

    #[last]
    fn close(&mut self) {
        say(&self.seen, "closed");
    }
}
