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

/// A program whose destructor panics, with a payload whose destructor does so, too.
struct Nasty;

impl Drop for Nasty {
    fn drop(&mut self) {
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                panic!("a payload's destructor panics");
            }
        }
        std::panic::panic_any(Payload);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_program_whose_destructor_panics_is_outlived_by_a_thread_that_unwinds() {
    struct Explores;
    impl Drop for Explores {
        fn drop(&mut self) {
            let nasty = Nasty;
            let explored = explorer().run(move || _ = &nasty);
            let said = explored.unwrap_err().to_string();
            assert_eq!(said, "the exploration panicked: (not a text)");
            println!("it is told");
        }
    }
    let test = "a_program_whose_destructor_panics_is_outlived_by_a_thread_that_unwinds";
    let Some((is_right, text)) = in_a_child(test, "") else {
        let unwound = catch_unwind(|| {
            let _explores = Explores;
            panic!("unwinds");
        });
        return assert!(unwound.is_err());
    };
    assert!(is_right && text.contains("it is told"), "{text}");
}

/// Runs a test of this file in a process of its own, with this said to the shell that starts it: whether all went well,
/// and what it printed. `None` in that process.
fn in_a_child(test: &str, redirected: &str) -> Option<(bool, String)> {
    const CHILD: &str = "LENO_EXPLORE_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    let (_crate, module) = module_path!().split_once("::").unwrap();
    let mut child = std::process::Command::new("sh");
    child.args(["-c", &format!("exec \"$0\" \"$@\" {redirected}")]);
    child.arg(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("{module}::{test}"), "--nocapture"]).env(CHILD, "1");
    child.env_remove("LENO_REPLAY").env_remove("LENO_SEED");
    let output = child.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn an_exploration_says_what_it_has_to_though_stderr_is_full_or_closed() {
    let test = "an_exploration_says_what_it_has_to_though_stderr_is_full_or_closed";
    for redirected in ["2> /dev/full", "2>&-", ""] {
        let Some((is_right, text)) = in_a_child(test, redirected) else {
            // There are other schedules than this one, which is said.
            return Explorer::new().exhaustive().runs(1).check(|| {
                let others = ["one", "two"].map(|name| thread::spawn(name, thread::yield_now));
                others.into_iter().for_each(|other| other.join().unwrap());
            });
        };
        assert!(is_right, "{redirected}: {text}");
        assert_eq!(text.contains("not complete"), redirected.is_empty(), "{text}");
    }
}

#[test]
fn a_monitor_may_be_changed_while_it_is_shown() {
    use std::fmt::Write as _;
    struct Changes<'a>(&'a leno_explore::Monitor, String);
    impl std::fmt::Write for Changes<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.hot();
            self.1.push_str(text);
            self.0.cold();
            Ok(())
        }
    }
    let monitor = leno_explore::Monitor::new("an answer");
    let mut changes = Changes(&monitor, String::new());
    write!(changes, "{monitor:?}").unwrap();
    assert_eq!(changes.1, "Monitor('an answer', cold)");
}
