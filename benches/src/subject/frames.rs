//! leno in the benches of stored coroutines.

use std::hint::black_box;
use std::time::Instant;

use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};
use leno::{Builder, Suspender};

use crate::bench::frames::{Frame, frame};
use crate::bench::memory::weigh;
use crate::contender::{Contender, Failure, Turn};

#[resumable]
async fn descend(co: &mut Co<u64, u64>, depth: usize) -> u64 {
    let held: Frame = frame(depth);
    if depth > 1 {
        let below = descend(co, depth - 1).await;
        return below + u64::from(held.level);
    }
    let mut sum = 0;
    while sum != u64::MAX {
        sum += co.suspend(sum).await;
    }
    sum + u64::from(held.level)
}

fn suspended(depth: usize) -> Resumable<u64, u64, u64> {
    Resumable::start(&mut (), descend, (depth,)).0
}

pub fn frame_store(depth: usize) -> Vec<Contender> {
    let mut suspended = suspended(depth);
    vec![Contender::timed("leno", move |n| {
        for _ in 0..n {
            black_box(suspended.snapshot(Format::Postcard).expect("it can be stored"));
        }
    })]
}

pub fn frame_restore(depth: usize) -> Vec<Contender> {
    let bytes = suspended(depth).snapshot(Format::Postcard).expect("it can be stored").into_bytes();
    vec![Contender::timed("leno", move |n| {
        for _ in 0..n {
            let image = Image::from_bytes(&bytes[..]).expect("an image");
            let restored = Resumable::restore(descend, &image, &Options::new());
            black_box(restored.expect("it fits"));
        }
    })]
}

/// Suspends over and over, so many frames below the body.
#[inline(never)]
fn deep(co: &Suspender<u64, u64>, depth: usize, input: u64) -> u64 {
    if depth > 1 {
        return black_box(deep(co, depth - 1, input));
    }
    let mut sum = input;
    while sum != u64::MAX {
        sum += co.suspend(sum);
    }
    sum
}

pub fn frame_resume(depth: usize) -> Vec<Contender> {
    vec![
        Contender::measured("leno", move |n| {
            let mut suspended = suspended(depth);
            let start = Instant::now();
            for i in 0..n {
                let state = suspended.resume(&mut (), black_box(i));
                assert!(matches!(black_box(state), State::Suspended(_)));
            }
            Ok(Turn::ns(start.elapsed(), n))
        }),
        Contender::measured("leno stackful", move |n| {
            // A thousand frames, and room to unwind them.
            let builder = Builder::new().stack_size(256 << 10);
            let body = move |co: &Suspender<u64, u64>, input| deep(co, depth, input);
            let co = builder.coroutine(body).map_err(Failure::failed)?;
            co.try_resume(0).map_err(Failure::failed)?;
            let start = Instant::now();
            for i in 0..n {
                black_box(co.resume(black_box(i)));
            }
            Ok(Turn::ns(start.elapsed(), n))
        }),
    ]
}

#[resumable]
async fn ask(co: &mut Co<u32, u32>, question: u32) -> u32 {
    co.suspend(question).await
}

#[resumable]
async fn ask_again(co: &mut Co<u32, u32>, question: u32) -> u32 {
    let mut tries = 0;
    loop {
        let answer = ask(co, question).await;
        if answer > 0 {
            return answer;
        }
        tries += 1;
        if tries > 9 {
            return 0;
        }
    }
}

#[resumable]
async fn dialogue(co: &mut Co<u32, u32>, name: String) -> (String, u32) {
    let first = ask_again(co, 1).await;
    let second = ask_again(co, first).await;
    (name, first + second)
}

fn three_frames(i: u64) -> Resumable<u32, u32, (String, u32)> {
    let mut dialogue = Resumable::start(&mut (), dialogue, (format!("user {i}"),)).0;
    dialogue.resume(&mut (), 7);
    dialogue
}

pub fn frame_memory() -> Vec<Contender> {
    vec![
        Contender::measured("leno", |n| {
            let mut i = 0;
            weigh(n, || {
                i += 1;
                Ok(three_frames(i))
            })
        }),
        Contender::measured("leno stored", |n| {
            let mut bytes = 0;
            for i in 0..n {
                let image = three_frames(i).snapshot(Format::Postcard).map_err(Failure::failed)?;
                bytes += image.as_bytes().len();
            }
            Ok(Turn::of(bytes as f64 / n as f64))
        }),
    ]
}
