//! The Santa Claus problem: nine reindeer all together or elves in threes wake Santa, and reindeer go first.
//! It tells what happens as it happens, until the third Christmas; `cargo run -p leno --example 27_santa --
//! santa.html` draws it, too. To flexible coroutines, coroutines of other systems are threads.

use std::sync::Arc;
use std::time::Duration;

use leno::flexible::System as Flexibles;
use leno::flexible::synchroniser::{Chords, NWay, chord::Post};
use leno::kernel::{Options, System, log::mark, sleep};
use leno::picture::{Names, timeline};

/// Who has come, and where they are let out.
type Group = (Vec<u64>, NWay);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads = System::builder().cores(1).log(100_000).build()?;
    let pole = Arc::new(Flexibles::new());
    let (sleigh, queue) = (NWay::new(&pole, "sleigh", 9), NWay::new(&pole, "queue", 3));
    let bell = Chords::new(&pole, "bell");
    let awake = bell.enquiry::<(), (&str, Group)>("awake");
    let (toys, problem) = (bell.post::<Group>("toys"), bell.post::<Group>("problem"));
    let reindeer_wait = toys.clone();
    bell.chord(&awake, &toys, |(), team| ("toys", team)); // declared first, so it goes first
    bell.chord(&awake, &problem, move |(), group| {
        assert_eq!(reindeer_wait.pending(), 0, "reindeer wait, and elves go first");
        ("problem", group)
    });

    let santa = threads.spawn_with(&Options::new().name("Santa"), move || {
        let (mut years, mut problems) = (0, 0);
        while years < 3 {
            let Ok((task, (who, out))) = awake.call(()) else { break };
            eprintln!("Santa: {task} with {who:?}");
            mark(format!("{task} with {who:?}"));
            assert_eq!(who.len(), if task == "toys" { 9 } else { 3 });
            sleep(Duration::from_millis(4));
            out.accept(()).expect("they want to go home");
            if task == "toys" { years += 1 } else { problems += 1 }
        }
        (years, problems)
    });
    // Whoever is let in is told where its group will be let out.
    let gather = |name: &'static str, place: &NWay<NWay, u64>, bell: Post<Group>| {
        let (pole, place) = (pole.clone(), place.clone());
        drop(threads.spawn_with(&Options::new().name(name), move || {
            loop {
                let out = NWay::new(&pole, "out", place.n());
                let Ok(who) = place.accept(out.clone()) else { break };
                if bell.send((who, out)).is_err() {
                    break;
                }
            }
        }));
    };
    gather("sleigh", &sleigh, toys);
    gather("elf queue", &queue, problem);
    for (kind, count, place, rest) in [("reindeer", 9, sleigh, 15), ("elf", 10, queue, 3)] {
        for number in 1..=count {
            let (place, name) = (place.clone(), format!("{kind} {number}"));
            drop(threads.spawn_with(&Options::new().name(name), move || {
                sleep(Duration::from_millis(number));
                while place.enter(number).is_ok_and(|out| out.enter(()).is_ok()) {
                    sleep(Duration::from_millis(rest + number)); // holidays, or toys to make
                }
            }));
        }
    }
    let (years, problems) = santa.join()?;
    pole.stop(); // whoever waits is told that it is over
    println!(
        "{years} times toys, each with 9 reindeer; problems of 3 elves each: {}",
        problems > 0
    );
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(&file, timeline(&threads.log(), &Names::new()))?;
    }
    Ok(())
}
