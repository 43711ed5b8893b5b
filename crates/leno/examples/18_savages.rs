//! Dining savages, without locks and without counting who waits. The pot and the cook are fibres; to eat is to
//! ask the pot, which asks the cook when it is empty. When all have eaten, nobody asks the pot any more, and
//! it starves, and so does the cook.

use std::cell::RefCell;
use std::rc::Rc;

use leno::explore::Explorer;
use leno::fibre::{Cx, duplex};
use leno::run;

const SERVINGS: u32 = 3;

/// Who ate which serving of which pot, and how often the cook was called.
fn dinner(say: impl Fn(&str) + 'static, savages: u32, meals: u32) -> (Vec<(u32, u32)>, u32) {
    let eaten: Rc<RefCell<Vec<(u32, u32)>>> = Rc::default();
    let calls = Rc::new(RefCell::new(0));
    let (list, count, say) = (eaten.clone(), calls.clone(), Rc::new(say));
    let ran = run(move |cx| {
        let ((eat, pot), (fill, cook)) = (duplex::<u32, u32>(), duplex::<u32, u32>());
        cx.spawner().name("cook").spawn_bound(cook, move |cx, cook| {
            cook.serve(cx, |fills| {
                *count.borrow_mut() += 1;
                fills
            })
        });
        let shout = say.clone();
        cx.spawner().name("pot").spawn_bound((pot, fill), move |cx, (pot, fill)| {
            let mut left = 0;
            loop {
                pot.serve_one(cx, |savage| {
                    if left == 0 {
                        shout(&format!("savage {savage} finds the pot empty"));
                        left = fill.call(cx, SERVINGS);
                    }
                    left -= 1;
                    SERVINGS - left
                });
            }
        });
        for savage in 1..=savages {
            let (eat, list, say) = (eat.clone(), list.clone(), say.clone());
            cx.spawn(move |cx: &Cx<'_>| {
                for _ in 0..meals {
                    let serving = eat.call(cx, savage);
                    say(&format!("savage {savage} eats serving {serving}"));
                    list.borrow_mut().push((savage, serving));
                }
            });
        }
    });
    assert_eq!((ran.report().removed, ran.zombies().len()), (2, 0), "the pot and the cook");
    (eaten.take(), calls.take())
}

fn main() {
    dinner(|line| println!("{line}"), 2, 4);
    // Whoever comes first: everyone eats, no serving twice, and the cook is called when there is none.
    let summary = Explorer::new().runs(300).run(|| {
        let (eaten, calls) = dinner(|_| (), 2, 2);
        assert_eq!((eaten.len(), calls), (4, 2));
        let mut servings: Vec<u32> = eaten.into_iter().map(|(_, serving)| serving).collect();
        servings.sort_unstable();
        assert_eq!(servings, [1, 1, 2, 3]);
    });
    println!("the same under {} schedules", summary.expect("no schedule fails").runs());
}
