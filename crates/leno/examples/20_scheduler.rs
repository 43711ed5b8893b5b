//! The scheduler of a single core (Madsen 2021) is a page of user code: each process has a budget of
//! 100 units in turn, and whoever has used it up goes last. A process that waits is not scheduled.

use std::cell::RefCell;
use std::rc::Rc;

use leno::kernel::{LocalSystem, Options, yield_now};
use leno::process::{Back, Budget, Sink, no_preempt, preemptible};

type Said = Rc<RefCell<Vec<String>>>;

/// Adds up, and says now and then how far it is. It never yields by itself.
#[preemptible]
fn sum_up(name: &str, to: u64, said: &Said) {
    let mut sum = 0;
    for n in 1..=to {
        sum += n;
        if n % 80 == 0 {
            said.borrow_mut().push(format!("{name}: {sum}"));
        }
    }
}

/// Nobody else says anything between its words.
fn counts_in_one_breath(said: &Said) {
    no_preempt(|| {
        for word in ["one", "two", "three"] {
            leno::process::safepoint!(200);
            said.borrow_mut().push(word.to_owned());
        }
    });
}

fn schedule(processes: &Sink, said: &Said) {
    while let Some(process) = processes.next() {
        let attached = process.attach(Budget::units(100)).expect("it is ready");
        let mut said = said.borrow_mut();
        let words = said.drain(..).collect::<Vec<_>>().join(", ");
        let why = match attached.back {
            Back::Preempted => "preempted",
            Back::Yielded => "yielded",
            _ => "ended",
        };
        println!("{process}: {words} ({why} after {} units)", attached.units);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = LocalSystem::builder().preemptive().build();
    drop(system.spawn(|| {
        let (processes, said) = (Sink::new(), Said::default());
        let (anna, bert, cleo) = (said.clone(), said.clone(), said.clone());
        drop(processes.spawn(&Options::new(), move || sum_up("anna", 250, &anna)));
        drop(processes.spawn(&Options::new(), move || {
            bert.borrow_mut().push("bert waits".into());
            yield_now();
            sum_up("bert", 80, &bert);
        }));
        drop(processes.spawn(&Options::new(), move || counts_in_one_breath(&cleo)));
        schedule(&processes, &said);
    }));
    println!("{}", system.run()?);
    Ok(())
}
