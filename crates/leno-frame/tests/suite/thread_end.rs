//! Coroutines are stored and restored also in the destructors of thread-locals, where leno's own may be gone.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::process::Command;
use std::sync::Arc;

use leno_frame::journal::Journaled;
use leno_frame::{Co, Format, Image, Options, Resumable, Shared, State, resumable};

#[resumable]
async fn leaf(co: &mut Co<u32, u32>, one: Shared<Vec<u32>>, other: Shared<Vec<u32>>) -> u32 {
    let given = co.suspend(one[0]).await;
    let is_shared = std::ptr::eq(&*one, &*other);
    given + other[0] + u32::from(is_shared)
}

type Leaf = Resumable<u32, u32, u32>;

fn start() -> Leaf {
    let shared = Shared::new(vec![40]);
    let (coroutine, state) = Resumable::start(&mut (), leaf, (shared.clone(), shared));
    assert_eq!(state, State::Suspended(40));
    coroutine
}

/// Stores and restores one in each format, and as a journal.
fn stores(coroutine: &mut Leaf) {
    for format in [Format::Json, Format::Postcard] {
        let image = coroutine.snapshot(format).unwrap();
        let image = Image::from_bytes(image.into_bytes()).unwrap();
        let mut again = Leaf::restore(leaf, &image, &Options::new()).unwrap();
        assert_eq!(again.resume(&mut (), 1), State::Complete(42));
    }
    let (mut journaled, _) =
        Journaled::start("leaf", (), |()| (start(), State::Suspended(40))).unwrap();
    journaled.checkpoint().unwrap();
    assert_eq!(journaled.resume(1).unwrap(), State::Complete(42));
}

struct Saved(RefCell<Option<Leaf>>, RefCell<Option<Arc<()>>>);

impl Drop for Saved {
    fn drop(&mut self) {
        stores(self.0.get_mut().as_mut().unwrap());
        // Told only if nothing has panicked.
        self.1.take();
    }
}

thread_local! {
    static SAVED: Saved = const { Saved(RefCell::new(None), RefCell::new(None)) };
}

#[test]
#[ignore = "it is the process of another"]
fn at_the_end() {
    for is_used_before in [true, false] {
        let witness = Arc::new(());
        let kept = witness.clone();
        let thread = std::thread::spawn(move || {
            // Made before those of leno, so it goes after them.
            SAVED.with(|saved| {
                *saved.1.borrow_mut() = Some(kept);
                *saved.0.borrow_mut() = Some(start());
                if is_used_before {
                    stores(saved.0.borrow_mut().as_mut().unwrap());
                }
            });
        });
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}

#[test]
fn coroutines_are_stored_and_restored_at_the_end_of_a_thread() {
    let program = std::env::current_exe().unwrap();
    let (_crate, at_the_end) = concat!(module_path!(), "::at_the_end").split_once("::").unwrap();
    let arguments = [at_the_end, "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran no test");
}
