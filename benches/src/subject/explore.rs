//! leno in `explore-buffer` and `explore-queue`.

use std::sync::Arc;

use leno::channel::Mutex;
use leno::channel::shared::bounded;
use leno::explore::{Explorer, thread};

use crate::bench::explore::{JOBS, VALUES, WORKERS};
use crate::contender::Contender;

fn explored(program: fn()) -> Vec<Contender> {
    vec![Contender::timed("leno", move |n| {
        let summary = Explorer::new().random(1).runs(n).run(program).expect("it is right");
        assert_eq!(summary.runs(), n);
    })]
}

pub fn explore_buffer() -> Vec<Contender> {
    explored(|| {
        let (tx, rx) = bounded(2);
        let producers = [0, 1].map(|_| {
            let tx = tx.clone();
            thread::spawn("producer", move || {
                (0..VALUES).for_each(|n| tx.send(n).expect("it is open"));
            })
        });
        drop(tx);
        let consumer = thread::spawn("consumer", move || rx.iter().count());
        producers.into_iter().for_each(|producer| producer.join().expect("it does not panic"));
        assert_eq!(consumer.join().expect("it does not panic"), 2 * VALUES as usize);
    })
}

pub fn explore_queue() -> Vec<Contender> {
    explored(|| {
        let jobs = Arc::new(Mutex::shared((0..JOBS).collect::<Vec<_>>()));
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let jobs = jobs.clone();
                thread::spawn("worker", move || {
                    let mut done = 0;
                    loop {
                        let job = jobs.lock().expect("nobody exits").pop();
                        if job.is_none() {
                            return done;
                        }
                        done += 1;
                    }
                })
            })
            .collect();
        let done: u32 = workers.into_iter().map(|worker| worker.join().expect("it ends")).sum();
        assert_eq!(done, JOBS);
    })
}
