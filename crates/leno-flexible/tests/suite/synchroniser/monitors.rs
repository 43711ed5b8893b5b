use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use leno_explore::thread;
use leno_flexible::synchroniser::monitor::{Monitor, Request};
use leno_flexible::{CallError, System};

use super::{explore, wait};

/// Puts while there is room, gets while there is something.
fn by_room(most: usize) -> impl FnMut(&VecDeque<u32>, &[Request]) -> Option<usize> + Send {
    move |buffer, waiting| {
        waiting.iter().position(|own| match own.method() {
            "put" => buffer.len() < most,
            _ => !buffer.is_empty(),
        })
    }
}

#[test]
fn f92_a_bounded_buffer_is_a_plain_queue_and_a_scheduler() {
    explore(|| {
        let system = System::new();
        let buffer = Monitor::with_scheduler(&system, "buffer", VecDeque::new(), by_room(1));
        let put = buffer.method("put", |buffer, n: u32| {
            buffer.push_back(n);
            assert!(buffer.len() <= 1);
        });
        let get = buffer.method("get", |buffer, ()| buffer.pop_front().expect("it was scheduled"));
        let puts = thread::spawn("puts", move || (0..3).for_each(|n| put.call(n).unwrap()));
        let own = get.clone();
        let gets = thread::spawn("gets", move || own.call(()).unwrap());
        let mut got = vec![get.call(()).unwrap(), get.call(()).unwrap(), gets.join().unwrap()];
        puts.join().unwrap();
        got.sort_unstable();
        assert_eq!(got, [0, 1, 2]);
    });
}

#[test]
fn f92_a_method_runs_to_its_end_even_if_it_waits() {
    explore(|| {
        let system = System::new();
        let inside = Arc::new(AtomicBool::new(false));
        let monitor = Monitor::new(&system, "monitor", 0);
        let (own, other) = (inside.clone(), inside);
        let slow = monitor.method("slow", move |sum: &mut i32, ()| {
            assert!(!own.swap(true, SeqCst));
            leno_kernel::sleep(std::time::Duration::from_millis(1));
            *sum += 1;
            own.store(false, SeqCst);
        });
        let quick = monitor.method("quick", move |sum: &mut i32, ()| {
            assert!(!other.load(SeqCst), "another method runs");
            *sum
        });
        let own = slow.clone();
        let calls = [
            thread::spawn("slow", move || own.call(()).unwrap()),
            thread::spawn("slow too", move || slow.call(()).unwrap()),
        ];
        let before = quick.call(()).unwrap();
        calls.into_iter().for_each(|own| own.join().unwrap());
        assert!(before <= 2);
        assert_eq!(quick.call(()).unwrap(), 2);
    });
}

#[test]
fn f92_another_scheduler_at_run_time() {
    explore(|| {
        let system = System::new();
        let never = |_: &Vec<u32>, _: &[Request]| None;
        let list = Monitor::with_scheduler(&system, "list", Vec::new(), never);
        let add = list.method("add", |list, n: u32| list.push(n));
        let see = list.method("see", |list, ()| list.clone());
        let adds: Vec<_> = (1..=3)
            .map(|at| {
                let add = add.clone();
                thread::spawn("adds", move || {
                    wait(at);
                    add.call(at as u32).unwrap();
                })
            })
            .collect();
        wait(4);
        let late = see.call_timeout((), std::time::Duration::from_millis(1));
        assert!(matches!(late, Err(CallError::TimedOut { .. })), "{late:?}");
        list.set_scheduler(|_: &Vec<u32>, _: &[Request]| Some(0));
        adds.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(see.call(()).unwrap(), [1, 2, 3]);
    });
}

#[test]
fn f92_a_panic_is_its_callers_and_the_monitor_goes_on() {
    let system = System::new();
    let monitor = Monitor::new(&system, "monitor", 1);
    let divide = monitor.method("divide", |n: &mut i32, by: i32| *n / by);
    assert_eq!(divide.call(1).unwrap(), 1);
    let text = divide.call(0).unwrap_err().to_string();
    assert_eq!(text, "coroutine 'monitor.divide' has panicked: attempt to divide by zero");
    assert_eq!(divide.call(1).unwrap(), 1);
    // A scheduler that panics breaks it, until there is another.
    monitor.set_scheduler(|_: &i32, _: &[Request]| panic!("not today"));
    for _ in 0..2 {
        let text = divide.call(1).unwrap_err().to_string();
        assert!(text.ends_with("the scheduler of monitor 'monitor' has panicked"), "{text}");
    }
    monitor.set_scheduler(|_: &i32, waiting: &[Request]| Some(waiting.len()));
    let text = divide.call(1).unwrap_err().to_string();
    assert!(text.ends_with("the scheduler of monitor 'monitor' picked number 1 of 1"), "{text}");
    monitor.set_scheduler(|_: &i32, _: &[Request]| Some(0));
    assert_eq!(divide.call(1).unwrap(), 1);
}

#[test]
fn a_method_outlives_an_answer_that_nobody_gets_and_that_panics() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "a destructor panics");
        }
    }
    let system = System::new();
    let monitor = Monitor::new(&system, "monitor", ());
    let (enter, entered) = std::sync::mpsc::channel();
    let (leave, left) = std::sync::mpsc::channel::<()>();
    let answers = monitor.method("answers", move |(), is_bad: bool| {
        if is_bad {
            enter.send(()).unwrap();
            left.recv().unwrap();
        }
        Bomb(is_bad)
    });
    let mut call = Box::pin(answers.call_async(true));
    let waker = std::task::Waker::noop();
    assert!(call.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    entered.recv().unwrap();
    drop(call);
    leave.send(()).unwrap();
    assert!(!answers.call(false).unwrap().0);
}
