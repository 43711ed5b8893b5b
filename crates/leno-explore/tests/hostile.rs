//! Programs that catch their exits, and values whose destructors panic: an exploration ends all the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use leno_explore::{Explorer, Failure, thread};

/// Explores on a thread of its own; it must end in time.
fn in_time(explore: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> String {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let explored = catch_unwind(AssertUnwindSafe(explore));
        let said = match explored {
            Ok(Ok(())) => "nothing failed".to_owned(),
            Ok(Err(failure)) => failure.trouble().to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        drop(tell.send(said));
    });
    told.recv_timeout(Duration::from_secs(100)).expect("it ends in time")
}

fn explorer() -> Explorer {
    Explorer::new().random(1).runs(1).most_operations(1_000).shrinks(1)
}

#[test]
fn a_thread_that_catches_its_exit_for_ever_is_given_up() {
    let said = in_time(|| {
        let explored = explorer().run(|| {
            let supervisor = thread::spawn("supervisor", || {
                loop {
                    let _ = catch_unwind(|| {
                        loop {
                            thread::yield_now();
                        }
                    });
                }
            });
            supervisor.join().unwrap();
        });
        explored.map(drop)
    });
    assert_eq!(said, "livelock: it did not end within 1000 operations");
}

#[test]
fn a_coroutine_that_catches_its_exit_for_ever_is_given_up() {
    let said = in_time(|| {
        let explored = explorer().run(|| {
            let system = leno_kernel::System::new(1).unwrap();
            let supervisor = system.spawn(|| {
                loop {
                    let _ = catch_unwind(|| {
                        loop {
                            leno_kernel::yield_now();
                        }
                    });
                }
            });
            supervisor.join().unwrap();
        });
        explored.map(drop)
    });
    assert_eq!(said, "livelock: it did not end within 1000 operations");
}

#[test]
fn a_result_whose_destructor_panics_fails_the_run_and_no_more() {
    struct Nasty;
    impl Drop for Nasty {
        fn drop(&mut self) {
            panic!("a result's destructor panics");
        }
    }
    let said = in_time(|| {
        let explored = explorer().run(|| {
            drop(thread::spawn("leaves it", || Nasty));
            thread::yield_now();
        });
        explored.map(drop)
    });
    assert_eq!(said, "'leaves it' panicked: a result's destructor panics");
}

#[test]
fn an_exploration_that_is_begun_while_the_thread_unwinds_ends() {
    struct Explores(std::sync::mpsc::Sender<String>);
    impl Drop for Explores {
        fn drop(&mut self) {
            let explorer = Explorer::new().random(1).runs(1).most_operations(50).shrinks(1);
            let explored = explorer.run(|| {
                loop {
                    let _ = std::panic::catch_unwind(|| {
                        loop {
                            leno_kernel::yield_now()
                        }
                    });
                }
            });
            let _ = self.0.send(explored.unwrap_err().to_string());
        }
    }
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _explores = Explores(tell);
        panic!("unwinds");
    });
    let failure = told.recv_timeout(std::time::Duration::from_secs(120)).expect("it ends");
    assert!(failure.contains("it did not end within 50 operations"), "{failure}");
    assert!(thread.join().is_err());
}

/// A few characters that stand for more decisions than memory can hold.
#[test]
fn a_short_token_of_many_decisions_takes_no_room() {
    let said = in_time(|| {
        let token = "P2Xzzzzzzzzzzz".parse().expect("it is a token");
        Explorer::new().replay(token).shrinks(0).run(|| ()).map(drop)
    });
    assert!(said.contains("the program ended after 0 of the token's"), "{said}");
}
