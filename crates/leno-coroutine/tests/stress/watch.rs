//! A thread that reads the states of other threads' coroutines.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread;

use leno_coroutine::{State, Status};

/// How many finished coroutines it goes on looking at.
const REMEMBERED: usize = 2000;

/// Reads states until the workers have stopped; returns how many coroutines it has seen finish.
pub(crate) fn watch(statuses: Receiver<Status>) -> usize {
    let mut live: Vec<(Status, State)> = Vec::new();
    let mut finished: Vec<Status> = Vec::new();
    let mut count = 0;
    let mut open = true;
    while open || !live.is_empty() {
        loop {
            match statuses.try_recv() {
                Ok(status) => live.push((status, State::New)),
                Err(error) => {
                    open = error == TryRecvError::Empty;
                    break;
                }
            }
        }
        let mut ended = Vec::new();
        live.retain_mut(|(status, last)| {
            let now = status.state();
            assert!(now != State::New || *last == State::New, "{status:?} became new again");
            *last = now;
            if now == State::Finished {
                ended.push(*status);
            }
            now != State::Finished
        });
        assert!(finished.iter().all(Status::is_finished), "a finished coroutine came back");
        count += ended.len();
        finished.append(&mut ended);
        if finished.len() > REMEMBERED {
            finished.drain(..REMEMBERED / 2);
        }
        thread::yield_now();
    }
    count
}
