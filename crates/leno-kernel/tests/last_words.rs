//! What is said before the process ends, or when nobody else would hear of it, needs no memory. In a process of its own,
//! whose allocator has none left for the threads that say so.
#![cfg(all(target_os = "linux", not(miri)))]

use std::alloc::{GlobalAlloc, Layout, System as Memory};
use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitStatus, Stdio};

use leno_context::last_words::say;
use leno_kernel::{LocalSystem, Options, Reason, Wake, cancel, exit, park, scope};

const CHILD: &str = "LENO_TEST_LAST_WORDS";
const SIGABRT: i32 = 6;
/// How often a coroutine may catch its exit.
const TRIES: u32 = 8;

thread_local! {
    static HAS_NONE_LEFT: Cell<bool> = const { Cell::new(false) };
}

/// The system's memory, while there is some.
struct Limited;

// SAFETY: all is forwarded, or refused by null.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if HAS_NONE_LEFT.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { Memory.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises; all comes from there.
        unsafe { Memory.dealloc(at, layout) }
    }
}

#[global_allocator]
static LIMITED: Limited = Limited;

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test of this name again, as a child. How it has ended, and what it has said.
fn child(name: &str) -> (ExitStatus, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads", "1"]).env(CHILD, "1");
    let output = command.stdout(Stdio::null()).output().unwrap();
    (output.status, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_allocator_has_nothing_left_when_it_is_told_so() {
    if is_child() {
        HAS_NONE_LEFT.set(true);
        std::hint::black_box(Box::new(1));
        HAS_NONE_LEFT.set(false);
        return;
    }
    let (status, said) = child("the_allocator_has_nothing_left_when_it_is_told_so");
    assert_eq!(status.signal(), Some(SIGABRT), "{status}: {said}");
}

#[test]
fn words_are_said_without_memory() {
    let name = leno_kernel::Name::from("clerk".to_owned());
    if is_child() {
        HAS_NONE_LEFT.set(true);
        let site = std::panic::Location::caller();
        let more = std::fmt::from_fn(|f| write!(f, "of line {} is still there", site.line()));
        say(format_args!("{} {more}, after {:>5} tries in {:?}", name.or_id(7), 12, 1.5_f32));
        HAS_NONE_LEFT.set(false);
        return;
    }
    let (status, said) = child("words_are_said_without_memory");
    assert!(status.success(), "{status}: {said}");
    assert!(
        said.starts_with("leno: 'clerk' of line ") && said.ends_with("tries in 1.5\n"),
        "{said}"
    );
}

#[test]
fn one_of_a_scope_that_goes_on_after_its_exits_is_given_up_without_memory() {
    if is_child() {
        let system = LocalSystem::new();
        let _made = system.spawn(|| {
            scope(|scope| {
                let stays = scope.spawn_with(&Options::new().name("stays"), || {
                    assert_eq!(park(Reason::Passive), Wake::Exit);
                    for _ in 0..TRIES {
                        let raised = catch_unwind(AssertUnwindSafe(exit)).unwrap_err();
                        // It is not dropped where nothing is left to drop it by.
                        std::mem::forget(raised);
                    }
                    HAS_NONE_LEFT.set(true);
                    exit();
                });
                leno_kernel::yield_now();
                cancel(stays.unwrap().co().unwrap());
            });
        });
        system.run().unwrap();
        unreachable!("it ends the process");
    }
    const TEST: &str = "one_of_a_scope_that_goes_on_after_its_exits_is_given_up_without_memory";
    let (status, said) = child(TEST);
    assert_eq!(status.signal(), Some(SIGABRT), "{status}: {said}");
    assert!(said.starts_with("leno: coroutine 'stays' (spawned at "), "{said}");
    let end =
        ") caught its exit 8 times and went on; aborting, because it may borrow from its scope\n";
    assert!(said.ends_with(end), "{said}");
}
