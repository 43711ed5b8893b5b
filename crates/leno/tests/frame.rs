//! Coroutines made of frames, driven by threads, by fibres and by other people's tasks; and moved between
//! them half-way.
#![forbid(unsafe_code)]

use leno::fibre::channel;
use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};

#[resumable]
async fn running_sum(co: &mut Co<u32, u32>, count: u32) -> u32 {
    let mut sum = 0;
    for _ in 0..count {
        sum += add(co, sum).await;
    }
    sum
}

#[resumable]
async fn add(co: &mut Co<u32, u32>, so_far: u32) -> u32 {
    let first = co.suspend(so_far).await;
    first + co.suspend(so_far + first).await
}

type Sum = Resumable<u32, u32, u32>;

fn started() -> Sum {
    Resumable::start(&mut (), running_sum, (2,)).0
}

#[test]
fn by_a_fibre_that_waits_for_each_input() {
    let ran = leno::run(|cx| {
        let (inputs, input) = channel::<u32>();
        let (outputs, output) = channel::<u32>();
        cx.spawn(move |cx| (1..=4).for_each(|i| inputs.write(cx, i)));
        cx.spawn(move |cx| {
            let mut summing = started();
            loop {
                match summing.resume(&mut (), input.read(cx)) {
                    State::Suspended(so_far) => outputs.write(cx, so_far),
                    State::Complete(sum) => return outputs.write(cx, sum * 100),
                }
            }
        });
        (0..4).map(|_| output.read(cx)).collect::<Vec<_>>()
    });
    assert_eq!(ran.result(), Some(vec![1, 3, 6, 1000]));
}

#[test]
fn by_a_task_that_is_awaited_between_two_resumes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let sum = runtime.block_on(async {
        let task = tokio::spawn(async {
            let mut summing = started();
            for input in 1..4 {
                summing.resume(&mut (), input);
                tokio::task::yield_now().await;
            }
            summing.resume(&mut (), 4)
        });
        task.await.unwrap()
    });
    assert_eq!(sum, State::Complete(10));
}

#[test]
fn by_a_stackful_coroutine_a_thread_and_a_task_one_after_the_other() {
    let mut summing = started();
    // A stackful coroutine lends itself as little as anybody else.
    let steps = leno::Coroutine::new(move |co: &leno::Suspender<u32, u32>, mut input| {
        while let State::Suspended(so_far) = summing.resume(&mut (), input) {
            if so_far == 1 {
                let image = summing.snapshot(Format::Postcard).unwrap();
                return Some(image.into_bytes());
            }
            input = co.suspend(so_far);
        }
        None
    });
    let bytes = match steps.resume(1) {
        leno::Step::Finished(bytes) => bytes.unwrap(),
        leno::Step::Suspended(_) => panic!("it is stored after the first resume"),
    };
    let thread = std::thread::spawn(move || {
        let image = Image::from_bytes(bytes).unwrap();
        let mut summing: Sum = Resumable::restore(running_sum, &image, &Options::new()).unwrap();
        summing.resume(&mut (), 2);
        summing
    });
    let mut summing = thread.join().unwrap();
    summing.resume(&mut (), 3);
    assert_eq!(summing.resume(&mut (), 4), State::Complete(10));
}

#[test]
fn c12_a_stackful_coroutine_is_stored_as_its_journal() {
    use leno::frame::journal::{Journal, Journaled};

    // It is in the middle of a recursion on a native stack, which no image could hold.
    fn nested(co: &leno::Suspender<u32, u32>, depth: u32) -> u32 {
        if depth == 0 { 0 } else { nested(co, depth - 1) + co.suspend(depth) }
    }
    let make = |depth: u32| {
        let co = leno::Coroutine::new(move |co: &leno::Suspender<u32, u32>, first| {
            first + nested(co, depth)
        });
        let go = move |input: u32| match co.resume(input) {
            leno::Step::Suspended(out) => State::Suspended(out),
            leno::Step::Finished(sum) => State::Complete(sum),
        };
        let first = go(100);
        (go, first)
    };
    let (mut walking, _) = Journaled::start("nested", 3u32, make).unwrap();
    walking.resume(10).unwrap();
    let bytes = walking.journal().to_bytes();
    let thread = std::thread::spawn(move || {
        let journal = Journal::from_bytes(&bytes).unwrap();
        let (mut walking, state) = Journaled::replay("nested", &journal, make).unwrap();
        assert_eq!(state, State::Suspended(2));
        walking.resume(20).unwrap();
        walking.resume(30).unwrap()
    });
    assert_eq!(thread.join().unwrap(), State::Complete(160));
}
