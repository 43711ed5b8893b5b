//! The Santa Claus problem.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use leno::flexible::policy::Pending;
use leno::flexible::synchroniser::NWay;
use leno::flexible::{Flexible, Me, System, spinning};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "santa",
    shows: "Nine reindeer all together, or elves in threes, wake Santa, and reindeer go first.\n\
            Santa is a coroutine that 22 threads deal with; none of them sees a lock.",
    run: santa,
    read: "leno::flexible::synchroniser, examples 27_santa and 28_santa_coroutine",
};

const REINDEER: usize = 9;
const ELVES: usize = 10;
const YEARS: usize = 2;

/// Who has come, and where they are let out.
type Group = (Vec<usize>, NWay);

fn santa() -> Result<String, String> {
    let (home, pole) = (System::new(), System::new());
    let (santa, done) = at_home(&home);
    let sleigh: NWay<NWay, usize> = NWay::new(&pole, "sleigh", REINDEER);
    let queue: NWay<NWay, usize> = NWay::new(&pole, "queue", 3);
    let mut threads = Vec::new();
    for (name, place) in [("sleigh", &sleigh), ("queue 1", &queue), ("queue 2", &queue)] {
        let (santa, place) = (santa.clone(), place.clone());
        let out = NWay::new(&pole, &format!("{name}.out"), place.n());
        let gather = move || {
            while let Ok(who) = place.accept(out.clone()) {
                if santa.call((who, out.clone())).is_err() {
                    break;
                }
            }
        };
        let named = std::thread::Builder::new().name(name.to_owned());
        threads.push(named.spawn(gather).map_err(|error| error.to_string())?);
    }
    for (count, place) in [(REINDEER, sleigh), (ELVES, queue)] {
        for number in 1..=count {
            let place = place.clone();
            threads.push(std::thread::spawn(move || {
                while place.enter(number).is_ok_and(|out| out.enter(()).is_ok()) {
                    std::thread::sleep(Duration::from_millis(3));
                }
            }));
        }
    }
    let (mut years, mut problems) = (0, 0);
    while years < YEARS || problems == 0 {
        let mut who = done.recv().map_err(|error| error.to_string())?;
        who.sort_unstable();
        who.dedup();
        match who.len() {
            REINDEER => years += 1,
            3 => problems += 1,
            other => return Err(format!("{other} were with Santa")),
        }
    }
    drop((pole, home));
    let ended = threads.into_iter().filter_map(|own| own.join().ok()).count();
    expect(&ended, &(REINDEER + ELVES + 3))?;
    Ok(format!("{years} times toys, {problems} problems, nobody left waiting"))
}

/// Santa sleeps until he is called, and prefers the sleigh.
fn at_home(home: &System) -> (Flexible<Group, ()>, Receiver<Vec<usize>>) {
    let (tell, done) = channel();
    let is_sleigh = |own: &Pending| own.from.name() == "sleigh";
    let reindeer_first = move |all: &[Pending]| all.iter().position(is_sleigh).unwrap_or_default();
    let body = move |me: &mut Me<Group, ()>| {
        if let Some((who, out)) = me.parameter() {
            let task =
                if who.len() == REINDEER { "toys with reindeer" } else { "a problem of elves" };
            say!("Santa: {task} {who:?}");
            leno::kernel::sleep(Duration::from_millis(2));
            if out.accept(()).is_ok() {
                let _ = tell.send(who);
            }
        }
        me.detach(());
    };
    (home.coroutine("santa").serve(reindeer_first).create(spinning(body)), done)
}
