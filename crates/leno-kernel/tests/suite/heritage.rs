//! What coroutines inherit from whoever spawns them.

use leno_kernel::layer::heritage::{current, with};
use leno_kernel::{
    LocalSystem, System, blocking, scope, spawn, spawn_future, spawn_local, yield_now,
};

#[test]
fn coroutines_futures_scopes_and_helpers_inherit() {
    let system = LocalSystem::new();
    let all = with(3, || {
        system.spawn(|| {
            let local = spawn_local(current).join().unwrap();
            let future = spawn_future(async { current() }).join().unwrap();
            let scoped = scope(|scope| scope.spawn(current).join().unwrap());
            [current(), local, future, scoped, blocking(current)]
        })
    });
    system.run().unwrap();
    assert_eq!(all.join().unwrap(), [3; 5]);
    assert_eq!(current(), 0);
}

#[test]
fn so_on_every_core_and_wherever_a_future_goes() {
    let system = System::new(2).unwrap();
    let inherits = with(4, || system.spawn(|| (0..20).map(|_| spawn(current)).collect::<Vec<_>>()));
    for child in inherits.join().unwrap() {
        assert_eq!(child.join().unwrap(), 4);
    }
    let moves = async {
        let before = current();
        leno_kernel::spawn_future(async { yield_async().await }).await.unwrap();
        [before, current(), with(9, || spawn(current)).await.unwrap()]
    };
    let moved = with(5, || system.spawn_future(moves));
    assert_eq!(moved.join().unwrap(), [5, 5, 9]);
}

async fn yield_async() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut is_over, true) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

#[test]
fn each_has_its_own_while_others_run_and_a_panic_gives_it_back() {
    let system = LocalSystem::new();
    let one = |number| {
        move || {
            with(number, || {
                yield_now();
                assert_eq!(current(), number);
                yield_now();
            });
            let caught = std::panic::catch_unwind(|| with(99, || panic!("out")));
            assert!(caught.is_err());
            current()
        }
    };
    let both = [system.spawn(one(1)), system.spawn(one(2))];
    system.run().unwrap();
    for end in both {
        assert_eq!(end.join().unwrap(), 0);
    }
}
