//! Whatever the bytes, a journal is replayed or refused.
#![no_main]

mod hostile;

use std::sync::LazyLock;

use leno_frame::journal::{Async, Journal, Journaled, Pen, run};
use leno_frame::{Co, Image, Options, Resumable, State, resumable};
use libfuzzer_sys::fuzz_target;

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

static HONEST: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let words = ["a", "leno", "warp"].map(String::from).to_vec();
    let (mut words, _) = Journaled::start("words", words, body).expect("data");
    for input in [0, 1, 7] {
        words.resume(Some(input)).expect("data");
    }
    let (mut sum, _) =
        Journaled::start("sum", (9u32,), |(n,)| Resumable::start(&mut (), sum, (n,)))
            .expect("data");
    sum.resume(1).expect("data");
    sum.checkpoint().expect("data");
    sum.resume(2).expect("data");
    [words.journal().to_bytes(), sum.journal().to_bytes()]
});

fuzz_target!(|data: &[u8]| {
    let honest = &HONEST[usize::from(data.first().is_some_and(|kind| kind & 4 != 0))];
    let Some(bytes) = hostile::hostile(data, honest) else { return };
    let Ok(journal) = Journal::from_bytes(&bytes) else { return };
    assert_eq!(Journal::from_bytes(&journal.to_bytes()).as_ref(), Ok(&journal));
    let _ = Journaled::replay("words", &journal, body);
    let restore = |image: &Image| Sum::restore(sum, image, &Options::new());
    let _ = Journaled::replay_from("sum", &journal, restore);
});
