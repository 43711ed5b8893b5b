//! Santa Claus as a coroutine, whose task is what he is called with: no doorbell, no lock, and reindeer go
//! first because his own policy says so. He is in a system of his own, since he waits at meetings of another.

use std::sync::mpsc;
use std::time::Duration;

use leno::flexible::policy::Pending;
use leno::flexible::synchroniser::NWay;
use leno::flexible::{Me, System, spinning};

/// Who has come, and where they are let out.
type Group = (Vec<usize>, NWay);

/// Three Christmases with so many elves; how many problems were solved.
fn christmas(elves: usize) -> Result<usize, Box<dyn std::error::Error>> {
    let (home, pole) = (System::new(), System::new());
    let (done, results) = mpsc::channel();
    let is_sleigh = |own: &Pending| own.from.name() == "sleigh";
    let reindeer_first = move |all: &[Pending]| all.iter().position(is_sleigh).unwrap_or(0);
    let santa = home.coroutine("Santa").serve(reindeer_first).create(spinning(
        move |me: &mut Me<Group, ()>| {
            if let Some((who, out)) = me.parameter() {
                eprintln!(
                    "Santa: {} with {who:?}",
                    if who.len() == 9 { "toys" } else { "problem" }
                );
                leno::kernel::sleep(Duration::from_millis(2));
                if out.accept(()).is_ok() {
                    let _ = done.send(who);
                }
            }
            me.detach(()); // asleep again
        },
    ));
    let sleigh: NWay<NWay, usize> = NWay::new(&pole, "sleigh", 9);
    let queue: NWay<NWay, usize> = NWay::new(&pole, "queue", 3);
    let mut threads = Vec::new();
    // Two elf queues, so that one group can wait while another is with Santa.
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
        threads.push(std::thread::Builder::new().name(name.into()).spawn(gather)?);
    }
    for (count, place) in [(9, sleigh), (elves, queue)] {
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
    while years < 3 {
        match results.recv()?.len() {
            9 => years += 1,
            3 => problems += 1,
            other => return Err(format!("{other} with Santa").into()),
        }
    }
    drop((pole, home)); // whoever waits is told that it is over
    threads.into_iter().for_each(|own| own.join().expect("nobody panics"));
    Ok(problems)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for elves in [10, 11] {
        println!("with {elves} elves, problems were solved: {}", christmas(elves)? > 0);
    }
    Ok(())
}
