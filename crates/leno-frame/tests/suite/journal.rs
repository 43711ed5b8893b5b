//! Journals: what is a function of its inputs is stored as those inputs, and replayed (tier one of C12).
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use leno_frame::journal::{Body, Journal, JournalError, Journaled, Pen, RecordError, run};
use leno_frame::{Co, Format, ImageError, Options, Resumable, State, resumable};

/// Plain code that holds a borrow across its suspensions: no frame could.
fn longest(
    words: Vec<String>,
) -> (impl Body<usize, Yield = String, Output = usize>, State<String, usize>) {
    run(async move |pen: Pen<String, usize>| {
        let mut longest = "";
        loop {
            match words.get(pen.suspend(longest.to_owned()).await) {
                Some(word) if word.len() > longest.len() => longest = word,
                Some(_) => {}
                None => return longest.len(),
            }
        }
    })
}

/// The same, with another idea of what is longer.
fn shortest(
    words: Vec<String>,
) -> (impl Body<usize, Yield = String, Output = usize>, State<String, usize>) {
    run(async move |pen: Pen<String, usize>| {
        let mut shortest = "";
        loop {
            match words.get(pen.suspend(shortest.to_owned()).await) {
                Some(word) if shortest.is_empty() || word.len() < shortest.len() => shortest = word,
                Some(_) => {}
                None => return shortest.len(),
            }
        }
    })
}

fn words() -> Vec<String> {
    ["a", "leno", "warp", "weft yarn"].map(String::from).into()
}

fn journal_of(inputs: &[usize]) -> Journal {
    let (mut body, _) = Journaled::start("longest", words(), longest).unwrap();
    for input in inputs {
        body.resume(*input).unwrap();
    }
    body.journal().clone()
}

#[test]
fn c12_a_body_is_stored_as_its_inputs_and_replayed() {
    let bytes = journal_of(&[0, 1, 2]).to_bytes();
    let journal = Journal::from_bytes(&bytes).unwrap();
    assert_eq!((journal.name(), journal.len(), journal.is_empty()), ("longest", 3, false));
    let (mut body, state) = Journaled::replay("longest", &journal, longest).unwrap();
    assert_eq!(state, State::Suspended("leno".into()));
    assert_eq!(body.resume(3).unwrap(), State::Suspended("weft yarn".into()));
    assert_eq!(body.journal().len(), 4, "it goes on writing");
    assert_eq!(body.resume(9).unwrap(), State::Complete(9));
    assert!(matches!(body.resume(1), Err(RecordError::Completed(1))));
    let (_, state) = Journaled::replay("longest", body.journal(), longest).unwrap();
    assert_eq!(state, State::Complete(9), "what has completed is replayed to its end");
}

#[test]
fn c12_a_body_that_answers_otherwise_is_refused() {
    // Both answer "" at first, "a" to 0 and "a" again to ... only the longest changes its mind at 1.
    let error = Journaled::replay("longest", &journal_of(&[0, 1]), shortest).err().unwrap();
    assert_eq!(error, JournalError::Drift { step: 2 });
    assert!(error.to_string().contains("input 2"), "{error}");
    let error = Journaled::replay("shortest", &journal_of(&[0]), shortest).err().unwrap();
    assert!(error.to_string().contains("journal of `longest`, and not of `shortest`"), "{error}");
    // A body that has returned and is given more.
    let early = |words: Vec<String>| {
        run(async move |pen: Pen<String, usize>| {
            let first = pen.suspend(String::new()).await;
            words[first].len()
        })
    };
    let error = Journaled::replay("longest", &journal_of(&[0, 1]), early).unwrap_err();
    assert_eq!(error, JournalError::Drift { step: 1 });
    let panics = |_: Vec<String>| {
        run(async move |pen: Pen<String, usize>| {
            pen.suspend(String::new()).await;
            panic!("no more words");
            #[allow(unreachable_code)]
            0usize
        })
    };
    let error = Journaled::replay("longest", &journal_of(&[0]), panics).unwrap_err();
    assert_eq!(error, JournalError::Panicked { step: 1, cause: "no more words".into() });
}

#[test]
fn c12_other_types_are_refused() {
    let other = |words: Vec<String>| {
        run(async move |pen: Pen<String, u8>| {
            words.len() + usize::from(pen.suspend(String::new()).await)
        })
    };
    let error = Journaled::replay("longest", &journal_of(&[0]), other).unwrap_err();
    assert!(matches!(error, JournalError::OtherTypes { .. }), "{error}");
}

#[resumable]
async fn sum(co: &mut Co<u32, u32>, count: u32) -> u32 {
    let mut sum = 0;
    for i in 0..count {
        sum += co.suspend(i).await;
    }
    sum
}

type Sum = Resumable<u32, u32, u32>;

#[test]
fn c12_an_image_of_frames_cuts_a_journal_short() {
    let start = |(count,): (u32,)| Resumable::start(&mut (), sum, (count,));
    let (mut adding, _) = Journaled::start("sum", (5u32,), start).unwrap();
    adding.resume(10).unwrap();
    adding.resume(20).unwrap();
    let whole = adding.journal().clone();
    adding.checkpoint().unwrap();
    assert!(adding.journal().is_empty());
    let restore = |image: &leno_frame::Image| Sum::restore(sum, image, &Options::new());
    let (_, state) = Journaled::replay_from("sum", adding.journal(), restore).unwrap();
    assert_eq!(state, None, "nothing was put in since");
    adding.resume(30).unwrap();
    let journal = Journal::from_bytes(&adding.journal().to_bytes()).unwrap();
    assert!(journal.image().unwrap().is_some());
    let (again, state) = Journaled::replay_from("sum", &journal, restore).unwrap();
    assert_eq!(state, Some(State::Suspended(3)));
    // Frames and journal lead to the same place.
    let (mut replayed, _) = Journaled::replay("sum", &whole, start).unwrap();
    replayed.resume(30).unwrap();
    let image = |body: Journaled<Sum>| body.into_body().snapshot(Format::Postcard).unwrap();
    assert_eq!(image(again), image(replayed));
    // Each kind of journal has its own way back.
    let error = Journaled::replay("sum", &journal, start).unwrap_err();
    assert_eq!(error, JournalError::HasImage);
    let error = Journaled::replay_from("sum", &whole, restore).unwrap_err();
    assert_eq!(error, JournalError::NoImage);
}

#[test]
fn a_panic_leaves_the_journal_of_the_time_before() {
    let make = |start: u32| {
        run(async move |pen: Pen<u32, u32>| {
            let mut sum = start;
            loop {
                let input = pen.suspend(sum).await;
                assert_ne!(input, 13, "unlucky");
                sum += input;
            }
            #[allow(unreachable_code)]
            ()
        })
    };
    let (mut body, _) = Journaled::start("luck", 1u32, make).unwrap();
    body.resume(2).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| body.resume(13))).is_err());
    assert!(matches!(body.resume(1), Err(RecordError::Poisoned(1))));
    let (mut body, state) = Journaled::replay("luck", body.journal(), make).unwrap();
    assert_eq!(state, State::Suspended(3));
    assert_eq!(body.resume(4).unwrap(), State::Suspended(7));
}

#[test]
fn damaged_journals_give_errors() {
    let good = journal_of(&[0, 1, 2]).to_bytes();
    let error = |bytes: &[u8]| Journal::from_bytes(bytes).unwrap_err();
    assert_eq!(error(b""), JournalError::Bytes(ImageError::NotAnImage));
    assert_eq!(error(b"LF\x01...."), JournalError::Bytes(ImageError::NotAnImage));
    assert_eq!(error(b"LJ\x07...."), JournalError::Bytes(ImageError::Version(7)));
    for end in 2..good.len() {
        error(&good[..end]);
    }
    for place in 3..good.len() {
        for damage in [1, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[place] ^= damage;
            assert_eq!(error(&bytes), JournalError::Bytes(ImageError::Corrupt), "{place}");
        }
    }
}

/// What is handed out and never seen is dropped when no lock is held: its `Drop` may hand out something else.
#[test]
fn a_value_that_nobody_has_taken_may_suspend_in_its_drop() {
    struct Again(u32, Arc<Pen<Again, u32>>);
    impl Drop for Again {
        fn drop(&mut self) {
            if self.0 == 1 {
                let next = Again(self.0 + 1, self.1.clone());
                let mut suspend = pin!(self.1.suspend(next));
                assert!(
                    suspend.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
                );
            }
        }
    }
    let (_, state) = run(async |pen: Pen<Again, u32>| {
        let pen = Arc::new(pen);
        let mut first = Box::pin(pen.suspend(Again(1, pen.clone())));
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(first);
        pen.suspend(Again(3, pen.clone())).await
    });
    assert_eq!(state.suspended().map(|again| again.0), Some(2));
}
