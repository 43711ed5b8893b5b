//! Sleeping, limits and beats; most of it in virtual time.

use std::cell::{Cell, RefCell};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use crate::support::{MS, pair, run};
use leno_channel::{Mutex, channel};
use leno_io::time::{
    Missed, Time, interval, interval_at, now, sleep, sleep_async, sleep_until, timeout,
    timeout_async,
};
use leno_kernel::{LocalSystem, block_on, spawn_local};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Runs a body in virtual time.
fn virtually<T: 'static>(body: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::builder().virtual_time().build();
    let result = system.spawn(body);
    system.run().unwrap();
    result.join().unwrap()
}

fn at(seconds: u64) -> Time {
    Time::START + Duration::from_secs(seconds)
}

#[test]
fn sleeping_takes_its_time_and_no_more() {
    virtually(|| {
        sleep(HOUR);
        assert_eq!(now(), at(3600));
        sleep_until(at(1));
        assert_eq!(now(), at(3600));
        block_on(sleep_async(SECOND));
        assert_eq!(now(), at(3601));
    });
}

#[test]
fn a_closure_in_time_gives_its_result_and_may_borrow() {
    virtually(|| {
        let mut words = vec!["a"];
        let count = timeout(SECOND, || {
            words.push("b");
            sleep(SECOND / 2);
            words.len()
        });
        assert_eq!((count, now()), (Ok(2), Time::START + SECOND / 2));
        assert_eq!(words, ["a", "b"]);
    });
}

/// Says when it is dropped.
struct Tell(Rc<RefCell<Vec<&'static str>>>, &'static str);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

#[test]
fn whatever_a_closure_waits_for_is_given_up() {
    virtually(|| {
        let log = Rc::default();
        let tell = |what| Tell(Rc::clone(&log), what);
        let (sender, receiver) = channel::<u32>();
        let lock = Mutex::local(());
        let held = lock.lock().unwrap();
        let waits: [(&str, &dyn Fn()); 5] = [
            ("sleep", &|| sleep(HOUR)),
            ("recv", &|| drop(receiver.recv())),
            ("lock", &|| drop(lock.lock())),
            ("future", &|| block_on(sleep_async(HOUR))),
            ("join", &|| drop(spawn_local(|| sleep(2 * SECOND)).join())),
        ];
        for (n, (what, wait)) in waits.into_iter().enumerate() {
            let result = timeout(SECOND, || {
                let _tell = tell(what);
                wait();
                unreachable!("{what} has ended");
            });
            let error = result.unwrap_err();
            assert_eq!(error.limit(), SECOND);
            assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::TimedOut);
            assert_eq!(now(), at(n as u64 + 1));
            assert_eq!(log.borrow().last(), Some(&what), "its destructors have run");
        }
        drop(held);
        // Nobody is left in line.
        assert!(lock.try_lock().is_ok());
        assert!(sender.try_send(1).is_err());
    });
}

#[test]
fn the_shorter_of_two_limits_holds() {
    virtually(|| {
        let inner = timeout(HOUR, || timeout(SECOND, || sleep(2 * HOUR)));
        assert!(inner.unwrap().is_err());
        assert_eq!(now(), at(1));
        assert!(timeout(SECOND, || timeout(HOUR, || sleep(2 * HOUR))).is_err());
        assert_eq!(now(), at(2));
    });
}

#[test]
fn who_ends_at_the_limit_is_in_time() {
    virtually(|| {
        let at_the_limit = timeout(SECOND, || {
            sleep(SECOND);
            "just"
        });
        assert_eq!((at_the_limit, now()), (Ok("just"), at(1)));
        assert_eq!(timeout(Duration::ZERO, || 42), Ok(42));
    });
}

/// It ends well after the limit, because it does not wait: nobody throws its result away.
#[test]
fn who_does_not_wait_is_not_stopped() {
    run(|| {
        let start = now();
        let late = timeout(MS, || {
            while now() < start + 5 * MS {
                std::hint::spin_loop();
            }
            "late"
        });
        assert_eq!(late, Ok("late"));
    });
}

#[test]
fn a_panic_reaches_whoever_set_the_limit() {
    virtually(|| {
        let panic = catch_unwind(AssertUnwindSafe(|| timeout(SECOND, || panic!("inside"))));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"inside"));
    });
}

#[test]
fn who_is_cancelled_ends_its_closure_first() {
    virtually(|| {
        let log = Rc::default();
        let (inner, outer) = (Tell(Rc::clone(&log), "inner"), Tell(Rc::clone(&log), "outer"));
        let limited = spawn_local(move || {
            let _outer = outer;
            timeout(HOUR, || {
                let _inner = inner;
                sleep(2 * HOUR);
            })
        });
        sleep(SECOND);
        limited.cancel();
        assert!(limited.join().is_err());
        assert_eq!(*log.borrow(), ["inner", "outer"]);
        assert_eq!(now(), at(1));
    });
}

#[test]
fn a_limit_ends_a_wait_for_a_socket() {
    run(|| {
        let (near, far) = pair();
        let heard = Cell::new(0);
        let limited = timeout(2 * MS, || heard.set((&near).read(&mut [0]).unwrap()));
        assert!(limited.is_err());
        drop(far);
        assert_eq!((&near).read(&mut [0]).unwrap(), heard.get());
    });
}

#[test]
#[should_panic(expected = "a limit for a closure needs a coroutine with a stack")]
fn a_thread_has_nobody_who_ends_its_waits() {
    let _ = timeout(SECOND, || ());
}

#[test]
fn futures_have_limits_too() {
    virtually(|| {
        block_on(async {
            assert_eq!(timeout_async(SECOND, async { 1 }).await, Ok(1));
            assert!(timeout_async(SECOND, sleep_async(HOUR)).await.is_err());
            assert_eq!(now(), at(1));
            assert!(timeout_async(HOUR, sleep_async(SECOND)).await.is_ok());
            assert_eq!(now(), at(2));
        });
    });
    let system = LocalSystem::builder().virtual_time().build();
    let end = system.spawn_future(async {
        assert!(timeout_async(SECOND, sleep_async(HOUR)).await.is_err());
        now()
    });
    system.run().unwrap();
    assert_eq!(end.join().unwrap(), at(1));
    // On a thread, and on another executor.
    assert!(block_on(timeout_async(MS, sleep_async(HOUR))).is_err());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(runtime.block_on(timeout_async(MS, sleep_async(HOUR))).is_err());
}

/// When the beats are that someone waits for at 0, at 10 and then, late, at 35.
fn seen(missed: Missed) -> Vec<u64> {
    virtually(move || {
        let mut beats = interval(10 * SECOND).missed(missed);
        let mut seen = Vec::new();
        for n in 0..5 {
            if n == 1 {
                sleep_until(at(35));
            }
            let due = if n % 2 == 0 { beats.beat() } else { block_on(beats.beat_async()) };
            assert!(due <= now());
            seen.push(now().since(Time::START).as_secs());
        }
        seen
    })
}

#[test]
fn what_happens_to_missed_beats() {
    assert_eq!(seen(Missed::Burst), [10, 35, 35, 40, 50]);
    assert_eq!(seen(Missed::Delay), [10, 35, 45, 55, 65]);
    assert_eq!(seen(Missed::Skip), [10, 35, 40, 50, 60]);
    assert_eq!(Missed::default(), Missed::Skip);
}

#[test]
fn a_beat_begins_when_it_is_told_to() {
    virtually(|| {
        let mut beats = interval_at(at(3), 10 * SECOND);
        assert_eq!((beats.period(), beats.next_beat()), (10 * SECOND, at(3)));
        assert_eq!(beats.beat(), at(3));
        sleep(SECOND);
        beats.reset();
        assert_eq!(beats.beat(), at(14));
    });
}

#[test]
#[should_panic(expected = "a beat needs a period")]
fn a_beat_needs_a_period() {
    interval(Duration::ZERO);
}
