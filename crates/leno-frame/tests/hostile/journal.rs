//! Two journals, one of plain async code and one that begins with an image, and what must be true of any bytes said to
//! be such a journal.

use leno_frame::journal::{Async, Journal, Journaled, Pen, run};
use leno_frame::{Co, Image, Options, Resumable, State, resumable};

type Words = Async<String, Option<u16>, usize>;

fn body(words: Vec<String>) -> (Words, State<String, usize>) {
    run(async move |pen: Pen<String, Option<u16>>| {
        let mut chosen = "";
        while let Some(at) = pen.suspend(chosen.to_owned()).await {
            chosen = words.get(usize::from(at)).map_or("", |word| word);
        }
        chosen.len()
    })
}

#[resumable]
async fn sum(co: &mut Co<u32, u32>, count: u32) -> u32 {
    let mut sum = 0u32;
    for i in 0..count {
        sum = sum.wrapping_add(co.suspend(i).await);
    }
    sum
}

type Sum = Resumable<u32, u32, u32>;

/// Both journals, as this build writes them.
pub(crate) fn honest() -> [Vec<u8>; 2] {
    let words = ["a", "leno", "warp"].map(String::from).to_vec();
    let (mut words, _) = Journaled::start("words", words, body).expect("data");
    for input in [0, 1, 7] {
        words.resume(Some(input)).expect("data");
    }
    let make = |(count,)| Resumable::start(&mut (), sum, (count,));
    let (mut sum, _) = Journaled::start("sum", (9u32,), make).expect("data");
    sum.resume(1).expect("data");
    sum.checkpoint().expect("data");
    sum.resume(2).expect("data");
    [words.journal().to_bytes(), sum.journal().to_bytes()]
}

/// Whatever the bytes, a journal is replayed or refused, and what was read is written as it was. Says whether it was
/// replayed.
pub(crate) fn try_bytes(bytes: &[u8]) -> bool {
    let Ok(journal) = Journal::from_bytes(bytes) else { return false };
    assert_eq!(Journal::from_bytes(&journal.to_bytes()).as_ref(), Ok(&journal));
    let words = Journaled::replay("words", &journal, body).is_ok();
    let restore = |image: &Image| Sum::restore(sum, image, &Options::new());
    words | Journaled::replay_from("sum", &journal, restore).is_ok()
}
