//! Several stacks on one thread: a member of a ring is not the body, policy or observer in which another one hops to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};

use leno_coroutine::{Coroutine, Suspender, ring};
use leno_flexible::{AsyncMe, CallError, Flexible, Me, Party, Refusal, System, Threadless, What};

use super::support::{in_time, text};

/// Adds one, after `meanwhile`.
fn adds(
    system: &Threadless,
    name: &'static str,
    mut meanwhile: impl FnMut() + Send + 'static,
) -> Flexible<u32, u32> {
    system.create(name, |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let n = me.parameter().unwrap_or(0);
            meanwhile();
            me.detach(n + 1).await;
        }
    })
}

/// Two systems: a body of the first says so and hops in its turn.
fn two(is_in_turn: &Arc<AtomicBool>) -> [(Threadless, Flexible<u32, u32>); 2] {
    let (one, other) = (Threadless::new(), Threadless::new());
    let own = is_in_turn.clone();
    let hops = adds(&one, "hops", move || {
        own.store(true, SeqCst);
        ring::yield_now();
    });
    let plain = adds(&other, "plain", || {});
    [(one, hops), (other, plain)]
}

/// What another member gets, which runs while a body has its turn.
fn calls(is_in_turn: &AtomicBool, hops: &Flexible<u32, u32>, plain: &Flexible<u32, u32>) {
    while !is_in_turn.load(SeqCst) {
        ring::yield_now();
    }
    assert_eq!(plain.call(1).unwrap(), 2);
    // The one that steers that system would not go on.
    let refused = hops.call(1).unwrap_err();
    assert!(matches!(refused, CallError::Refused(Refusal::Steers { .. })), "{refused}");
}

#[test]
fn a_member_of_a_ring_is_not_the_body_in_which_another_one_hops() {
    in_time(|| {
        let is_in_turn = Arc::new(AtomicBool::new(false));
        let [(_one, hops), (_other, plain)] = two(&is_in_turn);
        let (tell, told) = mpsc::channel();
        ring::scope(|_| {
            let (own, tells) = (hops.clone(), tell.clone());
            ring::spawn(move || tells.send(own.call(1).unwrap()).unwrap());
            let hops = hops.clone();
            ring::spawn(move || {
                calls(&is_in_turn, &hops, &plain);
                tell.send(7).unwrap();
            });
            ring::run();
            assert!(ring::failures().unwrap().is_empty());
        });
        assert_eq!(told.iter().collect::<Vec<_>>(), [7, 2]);
    });
}

/// The thread's own code is a member of the ring, too.
#[test]
fn a_member_of_a_ring_is_not_the_body_in_which_its_thread_hops() {
    in_time(|| {
        let (is_in_turn, is_done) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let [(_one, hops), (_other, plain)] = two(&is_in_turn);
        ring::scope(|_| {
            let (own, done) = (hops.clone(), is_done.clone());
            ring::spawn(move || {
                calls(&is_in_turn, &own, &plain);
                done.store(true, SeqCst);
            });
            assert_eq!(hops.call(1).unwrap(), 2);
            ring::run();
            assert!(ring::failures().unwrap().is_empty());
        });
        assert!(is_done.load(SeqCst));
    });
}

#[test]
fn what_a_body_runs_on_top_of_itself_is_its_own_doing() {
    in_time(|| {
        let other = Threadless::new();
        let plain = adds(&other, "plain", || {});
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (own, events) = (seen.clone(), Arc::new(Mutex::new(Vec::new())));
        let sees = events.clone();
        let system = System::builder()
            .observer(move |event| {
                if matches!(event.what, What::Applied(rule) if rule.number().starts_with("4.8")) {
                    sees.lock().unwrap().push(event.by.clone());
                }
            })
            .threadless();
        let kicked = adds(&system, "kicked", || {});
        let blocks = Arc::new(move || {
            let raised = catch_unwind(AssertUnwindSafe(|| plain.call(1)));
            own.lock().unwrap().push(text(raised.unwrap_err()));
            kicked.kick().unwrap();
        });
        let runs = adds(&system, "runs", move || {
            let inner = blocks.clone();
            Coroutine::new(move |_: &Suspender<(), ()>, ()| inner()).resume(());
            ring::scope(|_| {
                let inner = blocks.clone();
                ring::spawn(move || inner());
                ring::run();
            });
        });
        assert_eq!(runs.call(1).unwrap(), 2);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().all(|text| text.contains("by one that has no home core")), "{seen:?}");
        let by = Party::Coroutine("runs".into());
        assert_eq!(*events.lock().unwrap(), [by.clone(), by]);
    });
}

#[test]
fn a_member_of_a_ring_may_use_a_system_whose_observer_hops_to_it() {
    in_time(|| {
        let system = System::builder().observer(|_| drop(ring::try_yield_now())).build();
        let adds = system.create("adds", |me: &mut Me<u32, u32>| {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1);
            }
        });
        ring::scope(|_| {
            for _ in 0..2 {
                let own = adds.clone();
                ring::spawn(move || own.kick().unwrap());
            }
            ring::run();
            assert!(ring::failures().unwrap().is_empty());
        });
        assert_eq!(adds.call(1).unwrap(), 2);
    });
}
