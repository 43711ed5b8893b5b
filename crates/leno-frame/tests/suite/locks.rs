//! Locks that are owned by coroutines, not by threads, and coroutines that are stored while they own one.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use leno_frame::{Co, Ext, Format, Image, Options, Resumable, State, resumable};

/// A lock whose owner is a coroutine, by number, and no thread.
#[derive(Default)]
struct Door(Mutex<Option<u64>>);

impl Door {
    /// Whether `who` has it now.
    fn lock(&self, who: u64) -> bool {
        *self.0.lock().unwrap().get_or_insert(who) == who
    }

    /// Whether it was `who` who had it.
    fn unlock(&self, who: u64) -> bool {
        self.0.lock().unwrap().take_if(|owner| *owner == who).is_some()
    }
}

#[resumable]
async fn behind(co: &mut Co<bool, ()>, door: Ext<Door>, own: u64) -> bool {
    let has_it = door.lock(own);
    co.suspend(has_it).await;
    door.unlock(own)
}

#[test]
fn s84_a_lock_owned_by_the_coroutine_is_its_own_after_storage() {
    for format in [Format::Postcard, Format::Json] {
        let door = Arc::new(Door::default());
        let bound = || Ext::new("door", door.clone());
        let (mut first, state) = Resumable::start(&mut (), behind, (bound(), 1));
        assert_eq!(state, State::Suspended(true));
        let bytes = first.snapshot(format).unwrap().into_bytes();
        drop(first);
        let (mut second, state) = Resumable::start(&mut (), behind, (bound(), 2));
        assert_eq!(state, State::Suspended(false), "an image has it");
        assert_eq!(second.resume(&mut (), ()), State::Complete(false));
        let options = Options::new().bind("door", door.clone());
        let restored = std::thread::spawn(move || {
            let image = Image::from_bytes(bytes).unwrap();
            let mut first = Resumable::restore(behind, &image, &options).unwrap();
            first.resume(&mut (), ())
        });
        assert_eq!(restored.join().unwrap(), State::Complete(true), "and gives it back");
        assert!(door.lock(2));
    }
}
