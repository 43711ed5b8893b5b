use super::*;

#[cfg(not(loom))]
mod plain {
    use super::*;

    #[test]
    fn every_answer_has_its_reason() {
        let word = ClaimWord::running(1);
        assert_eq!(word.take(1).unwrap_err(), Refused::Running);
        assert_eq!(word.steal(2), Theft::Busy);
        word.offer(1, true, false);
        assert_eq!(word.steal(2), Theft::Locked);
        word.offer(1, false, true);
        assert_eq!(word.steal(2), Theft::Pinned);
        word.offer(1, false, false);
        assert_eq!(word.steal(1), Theft::OwnThread);
        assert_eq!(word.take(2).unwrap_err(), Refused::OtherThread);
        assert_eq!(word.steal(2), Theft::Taken);
        assert_eq!(word.owner(), 2);
        word.finish();
        assert_eq!(word.steal(1), Theft::Finished);
        assert_eq!(word.take(2).unwrap_err(), Refused::Finished);
    }
}

/// Every interleaving: `RUSTFLAGS="--cfg loom" cargo test --release -p leno-coroutine --lib under_loom`.
#[cfg(loom)]
mod under_loom {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A coroutine whose whole state is a number that only its runner may touch.
    struct Coroutine {
        word: ClaimWord,
        steps: UnsafeCell<u32>,
    }

    impl Coroutine {
        fn step(&self, me: u32) {
            self.steps.with_mut(|steps| {
                // SAFETY: loom checks that nobody else is in here.
                unsafe { *steps += 1 }
            });
            self.word.offer(me, false, false);
        }
    }

    fn race(thieves: u32) {
        loom::model(move || {
            let coroutine =
                Arc::new(Coroutine { word: ClaimWord::running(1), steps: UnsafeCell::new(0) });
            coroutine.word.offer(1, false, false);
            let thieves: Vec<_> = (2..2 + thieves)
                .map(|me| {
                    let coroutine = coroutine.clone();
                    thread::spawn(move || {
                        let stolen = coroutine.word.steal(me) == Theft::Taken;
                        if stolen {
                            coroutine.step(me);
                        }
                        u32::from(stolen)
                    })
                })
                .collect();
            let mut taken = 0;
            for _ in 0..2 {
                if coroutine.word.take(1).is_ok() {
                    coroutine.step(1);
                    taken += 1;
                }
            }
            let stolen: u32 = thieves.into_iter().map(|thief| thief.join().unwrap()).sum();
            coroutine.steps.with(|steps| {
                // SAFETY: everyone else has ended.
                assert_eq!(unsafe { *steps }, taken + stolen);
            });
        });
    }

    #[test]
    fn s47_owner_against_one_thief_in_every_interleaving() {
        race(1);
    }

    #[test]
    fn s55_owner_against_two_thieves_in_every_interleaving() {
        race(2);
    }
}
