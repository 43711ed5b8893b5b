//! Coroutines, threads and futures at one wait queue.
#![cfg(not(loom))]

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use leno_kernel::layer::queue::{First, Local, Lock, Next, Shared, Stage, WaitQueue};
use leno_kernel::layer::user;
use leno_kernel::{
    LocalSystem, Reason, System, Waiter, Wake, block_on, cancel, current, exit, park, yield_now,
};

/// Tokens, and those who wait for one, the first come first. What nobody waits for is kept.
struct Tokens<L: Lock>(WaitQueue<L, Vec<u32>, Option<u32>, 1>);

impl<L: Lock> Tokens<L> {
    fn new() -> Self {
        Tokens(WaitQueue::new(Vec::new()))
    }

    fn put(&self, token: u32) {
        let mut guard = self.0.lock();
        let Some(key) = guard.first(0).map(|first| first.key) else {
            return guard.push(token);
        };
        let hand = |payload: &mut Option<u32>, token| *payload = Some(token);
        let (_, waiter) = guard.settle(0, key, Stage::Met, token, hand).expect("it is the first");
        drop(guard);
        user::wake_all(waiter);
    }

    fn take(&self) -> u32 {
        let waiter = Waiter::current();
        let mut guard = self.0.lock();
        if let Some(token) = guard.pop() {
            return token;
        }
        let mut wake = Wake::Unparked;
        let next = || {
            wake = park(Reason::Passive);
            if wake == Wake::Exit { Next::Leave } else { Next::Look }
        };
        let (guard, left) = guard.wait(0, waiter, None, || First::Wait, next, |_, _| ());
        drop(guard);
        if wake == Wake::Exit {
            left.payload.into_iter().for_each(|token| self.put(token));
            exit();
            return 0;
        }
        left.payload.expect("it was handed over")
    }

    async fn take_async(&self) -> u32 {
        let mut own = None;
        std::future::poll_fn(|context| {
            let waiter = Waiter::Waker(context.waker().clone());
            let mut guard = self.0.lock();
            let Some(node) = own.take() else {
                own = Some(guard.link_on_heap(0, waiter, None));
                return Poll::Pending;
            };
            if guard.stage(node.handle()) == Stage::Waiting {
                let old = guard.set_waiter(node.handle(), waiter);
                drop(guard);
                drop(old);
                own = Some(node);
                return Poll::Pending;
            }
            let left = guard.leave(node);
            drop(guard);
            Poll::Ready(left.payload.expect("it was handed over"))
        })
        .await
    }

    fn waiting(&self) -> usize {
        self.0.lock().iter(0).count()
    }
}

#[test]
fn coroutines_wait_in_their_frames_and_are_served_in_order() {
    let (system, tokens) = (LocalSystem::new(), Rc::new(Tokens::<Local>::new()));
    let taken: Vec<_> = (0..5)
        .map(|_| {
            let tokens = tokens.clone();
            system.spawn(move || tokens.take())
        })
        .collect();
    let puts = tokens.clone();
    drop(system.spawn(move || {
        assert_eq!(puts.waiting(), 5);
        (0..5).for_each(|token| puts.put(token));
    }));
    system.run().unwrap();
    let taken: Vec<_> = taken.into_iter().map(|one| one.join().unwrap()).collect();
    assert_eq!(taken, [0, 1, 2, 3, 4]);
}

#[test]
fn one_that_exits_leaves_its_line_and_what_it_was_handed_goes_to_the_next() {
    let (system, tokens) = (LocalSystem::new(), Rc::new(Tokens::<Local>::new()));
    let [first, second] = [(); 2].map(|()| {
        let tokens = tokens.clone();
        system.spawn(move || tokens.take())
    });
    let puts = tokens.clone();
    let leaves = first.co();
    drop(system.spawn(move || {
        puts.put(7);
        // It was handed the token, and has not looked yet.
        leaves.into_iter().for_each(cancel);
        yield_now();
        assert_eq!(puts.waiting(), 0);
    }));
    system.run().unwrap();
    assert!(first.join().is_err());
    assert_eq!(second.join().unwrap(), 7);
}

#[test]
fn threads_cores_and_futures_wait_at_one_queue() {
    const EACH: u32 = if cfg!(miri) { 3 } else { 300 };
    let tokens = Arc::new(Tokens::<Shared>::new());
    let system = System::builder().cores(2).build().unwrap();
    let takes = tokens.clone();
    let coroutine = system.spawn(move || (0..EACH).map(|_| takes.take()).sum::<u32>());
    let takes = tokens.clone();
    let future = system.spawn_future(async move {
        let mut sum = 0;
        for _ in 0..EACH {
            sum += takes.take_async().await;
        }
        sum
    });
    let tokens = &*tokens;
    let sum = |takes: fn(&Tokens<Shared>) -> u32| (0..EACH).map(|_| takes(tokens)).sum::<u32>();
    let all = std::thread::scope(|scope| {
        let thread = scope.spawn(move || sum(|tokens| tokens.take()));
        let blocked = scope.spawn(move || sum(|tokens| block_on(tokens.take_async())));
        scope.spawn(move || {
            for token in 1..=4 * EACH {
                // Futures never look before they wait: they are served when somebody waits.
                while tokens.waiting() == 0 {
                    std::thread::yield_now();
                }
                tokens.put(token);
            }
        });
        thread.join().unwrap() + blocked.join().unwrap()
    });
    let all = all + coroutine.join().unwrap() + future.join().unwrap();
    assert_eq!(all, (1..=4 * EACH).sum());
    assert_eq!(tokens.waiting(), 0);
}

#[cfg(not(leno_baton))]
#[test]
fn a_wait_that_ends_while_its_own_code_holds_the_lock_ends_the_process() {
    let name = "a_wait_that_ends_while_its_own_code_holds_the_lock_ends_the_process";
    super::support::ends_the_process(module_path!(), name, "has locked its queue", || {
        let queue = WaitQueue::<Local, (), (), 1>::new(());
        let held = std::cell::Cell::new(None);
        let next = || {
            held.set(Some(queue.lock()));
            panic!("a wait that unwinds");
        };
        drop(queue.lock().wait(0, Waiter::current(), (), || First::Wait, next, |_, _| ()));
    });
}

#[test]
fn who_waits_is_seen_by_its_own_name_and_key() {
    let (system, tokens) = (LocalSystem::new(), Rc::new(Tokens::<Local>::new()));
    let takes = tokens.clone();
    let own = system.spawn(move || {
        let own = current();
        (own, takes.take())
    });
    let looks = tokens.clone();
    let seen = system.spawn(move || {
        let guard = looks.0.lock();
        let first = guard.first(0).expect("it waits");
        let seen = match first.waiter {
            Some(Waiter::Co(co)) => Some(*co),
            _ => None,
        };
        assert!(guard.get(0, first.key).is_some_and(|one| one.payload.is_none()));
        drop(guard);
        looks.put(1);
        seen
    });
    system.run().unwrap();
    assert_eq!(own.join().unwrap().0, seen.join().unwrap());
}

/// Makes two coroutines on one shared stack. The result has the first one wait in its frame and resume the second one
/// meanwhile: that is refused, and the frame is not copied away.
fn two_on_a_shared_stack() -> impl FnOnce() -> Box<dyn Any> {
    use leno_coroutine::shared::{SharedError, Stacks};
    use leno_coroutine::{Step, Suspender};

    let tokens = Rc::new(Tokens::<Local>::new());
    let stacks = Stacks::new(1);
    let other = tokens.clone();
    // SAFETY: nothing refers to its locals from outside.
    let second =
        unsafe { stacks.coroutine(move |_: &Suspender<(), ()>, ()| other.put(7)) }.unwrap();
    let second = Rc::new(second);
    let (own, resumed) = (tokens.clone(), second.clone());
    let waits = move |_: &Suspender<(), ()>, ()| {
        let first = || {
            let refused = resumed.try_resume(());
            assert!(matches!(refused, Err(SharedError::Occupied { .. })), "{refused:?}");
            First::Wait
        };
        let waiter = Waiter::current();
        let next = || Next::Leave;
        let (guard, left) = own.0.lock().wait(0, waiter, None, first, next, |_, _| ());
        drop(guard);
        assert_eq!((left.stage, left.payload), (Stage::Waiting, None));
        // It is over.
        assert_eq!(resumed.resume(()), Step::Finished(()));
    };
    // SAFETY: as above.
    let first = unsafe { stacks.coroutine(waits) }.unwrap();
    move || {
        assert_eq!(first.resume(()), Step::Finished(()));
        assert_eq!(tokens.0.lock().pop(), Some(7));
        Box::new((first, second, stacks))
    }
}

/// A wait lies in the frame of a coroutine on a shared stack, and calls user code: that cannot have the frame copied away.
#[test]
#[cfg_attr(leno_baton, ignore = "the thread backend has no shared stacks")]
fn a_frame_on_a_shared_stack_stays_while_one_waits_in_it() {
    drop(two_on_a_shared_stack()());
}

/// What leno keeps of a thread is gone before the thread-locals that the thread used first.
#[test]
#[cfg_attr(leno_baton, ignore = "the thread backend has no shared stacks")]
fn a_frame_on_a_shared_stack_stays_also_in_a_destructor_of_a_thread_local() {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::{Sender, channel};

    type Check = (Box<dyn FnOnce() -> Box<dyn Any>>, Sender<bool>);
    struct AtEnd(Cell<Option<Check>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let (check, tell) = self.0.take().expect("it is set");
            // What is left cannot be released any more.
            let checked = catch_unwind(AssertUnwindSafe(check)).map(std::mem::forget);
            tell.send(checked.is_ok()).unwrap();
        }
    }
    thread_local!(static AT_END: AtEnd = const { AtEnd(Cell::new(None)) });

    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        AT_END.with(|end| {
            // Only now the thread uses leno.
            end.0.set(Some((Box::new(two_on_a_shared_stack()), tell)));
        });
    });
    thread.join().unwrap();
    assert!(told.recv().unwrap());
}
