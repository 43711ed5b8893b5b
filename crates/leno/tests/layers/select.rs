//! One select over unlike things.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use leno::channel::{Select, Source, shared};
use leno::flexible::{self, Me};
use leno::kernel::{self, LocalSystem, Waiter};
use leno::process::{self, process};
use leno::together::awaited;

struct Clerk;

#[process]
impl Clerk {
    #[entry]
    fn stamp(&mut self, paper: String) -> String {
        format!("{paper}, stamped")
    }
}

#[test]
fn i08_select_over_a_channel_an_entry_a_timer_a_thread_and_a_flexible_coroutine() {
    let flexible = flexible::System::new();
    let answers = flexible.create("answers", |me: &mut Me<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        me.detach(n + 1);
    });
    let processes = process::System::new(1).unwrap();
    let clerk = processes.start(Clerk);
    let system = LocalSystem::new();
    let seen = system.spawn(move || {
        let (tx, rx) = shared::channel();
        let _stays_open = tx.clone();
        let mut reply = awaited(clerk.stamp("form".into()).unwrap());
        let mut call = awaited(answers.call_async(41));
        // The end of a coroutine is a source by itself, but gives its result once: `awaited` knows that.
        let thread = kernel::spawn_local(|| kernel::blocking(|| "a thread has ended".to_owned()));
        let sender = kernel::spawn_local(move || tx.send("a letter").is_ok());
        let (mut thread, mut sender) = (awaited(thread), awaited(sender));
        // Each once, in whatever order they become ready; each takes its value, and only that.
        let mut seen = BTreeSet::new();
        while seen.len() < 5 {
            let one = Select::new()
                .recv(&rx, |letter| str::to_owned(letter.unwrap()))
                .source(&mut reply, |stamped| stamped.unwrap())
                .source(&mut call, |answer| format!("{} is the answer", answer.unwrap()))
                .source(&mut thread, |ended| ended.unwrap())
                .source(&mut sender, |sent| format!("sent: {}", sent.unwrap()))
                .wait()
                .unwrap();
            assert!(seen.insert(one.clone()), "{one} twice");
        }
        // Nothing else comes: the timer does.
        let (_tx, nobody) = shared::channel::<()>();
        let last =
            Select::new().recv(&nobody, |_| "somebody").after(Duration::from_millis(5), || "time");
        (seen, last.wait().unwrap())
    });
    system.run().unwrap();
    let (seen, last) = seen.join().unwrap();
    let expected =
        ["42 is the answer", "a letter", "a thread has ended", "form, stamped", "sent: true"];
    assert_eq!((seen, last), (expected.map(str::to_owned).into(), "time"));
    processes.run().unwrap();
}

#[test]
fn a_future_that_was_not_taken_is_there_for_the_next_select() {
    let (tx, rx) = shared::channel::<u32>();
    let mut answer = awaited(rx.recv_async());
    let first =
        Select::new().source(&mut answer, |_| 1).after(Duration::from_millis(1), || 2).wait();
    assert_eq!(first.unwrap(), 2);
    let sender = std::thread::spawn(move || tx.send(5));
    let second = Select::new().source(&mut answer, |got| got.unwrap()).wait();
    assert_eq!(second.unwrap(), 5);
    sender.join().unwrap().unwrap();
}

/// The waker that an awaited future was polled with.
type Known = Arc<Mutex<Option<Waker>>>;

fn wake_the_future(known: &Known) {
    let waker = known.lock().unwrap().clone();
    waker.unwrap().wake();
}

/// Wakes the awaited future when it is woken, and when it is dropped.
struct Rewakes {
    future: Known,
    woken: Arc<AtomicUsize>,
}

impl Wake for Rewakes {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, SeqCst);
        wake_the_future(&self.future);
    }
}

impl Drop for Rewakes {
    fn drop(&mut self) {
        wake_the_future(&self.future);
    }
}

#[test]
fn a_waker_of_a_select_may_wake_the_awaited_future_when_woken_or_dropped() {
    let (done, is_done) = mpsc::channel();
    // On a thread of its own: one that hangs does not end.
    std::thread::spawn(move || {
        let future = Known::default();
        let keeps = future.clone();
        let mut source = awaited(poll_fn(move |cx| {
            *keeps.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        assert!(source.take().is_none());
        let woken = Arc::new(AtomicUsize::new(0));
        let waiter = || {
            let rewakes = Rewakes { future: future.clone(), woken: woken.clone() };
            Waiter::Waker(Waker::from(Arc::new(rewakes)))
        };
        source.wait(&waiter());
        // The first one is dropped, and wakes the future, which wakes the second one.
        source.wait(&waiter());
        let replaced = woken.load(SeqCst);
        let third = waiter();
        source.wait(&third);
        source.leave(&third);
        drop(third);
        let left = woken.load(SeqCst);
        // It wakes the future again, for which nobody waits by then.
        source.wait(&waiter());
        wake_the_future(&future);
        let counts = (replaced, left, woken.load(SeqCst));
        done.send(counts).unwrap();
    });
    let woken = is_done.recv_timeout(Duration::from_secs(20)).expect("it does not hang");
    assert_eq!(woken, (1, 1, 2));
}
