//! Entries with guards, and values that are given to processes.
#![forbid(unsafe_code)]

use leno_process::{ReplyError, System, process};

/// Takes only so many, and large ones only when it is empty.
struct Shelf(Vec<u32>);

#[process]
impl Shelf {
    #[entry(when = self.0.len() < 3 && (*size < 10 || self.0.is_empty()))]
    fn put(&mut self, size: u32) {
        self.0.push(size);
    }

    #[entry(when = !self.0.is_empty())]
    fn take(&mut self) -> u32 {
        self.0.remove(0)
    }

    #[entry]
    fn contents(&mut self) -> Vec<u32> {
        self.0.clone()
    }
}

#[test]
fn m36_entries_with_guards_wait_until_these_are_open() {
    let system = System::new(1).unwrap();
    let shelf = system.start(Shelf(Vec::new()));
    for size in [1, 50, 2, 3, 4] {
        shelf.put(size).unwrap();
    }
    assert_eq!(shelf.contents().unwrap().wait(), Ok(vec![1, 2, 3]), "others overtake");
    let taken: Vec<_> = (0..3).map(|_| shelf.take().unwrap().wait().unwrap()).collect();
    assert_eq!(taken, [1, 2, 3]);
    assert_eq!(shelf.contents().unwrap().wait(), Ok(vec![4]));
    assert_eq!(shelf.take().unwrap().wait(), Ok(4));
    assert_eq!(shelf.take().unwrap().wait(), Ok(50));
    let never = shelf.take().unwrap();
    system.run().unwrap();
    assert!(matches!(never.wait(), Err(ReplyError::Stopped(_))), "its guard never opened");
}

#[test]
fn m45_values_are_copied_and_compared_by_content() {
    let mut own = vec![1, 2];
    let system = System::new(1).unwrap();
    let shelf = system.start(Shelf(own.clone()));
    own.push(3);
    assert_eq!(shelf.contents().unwrap().wait(), Ok(vec![1, 2]), "its own value");
    assert!(shelf.contents().unwrap().wait() != Ok(own));
    system.run().unwrap();
}
