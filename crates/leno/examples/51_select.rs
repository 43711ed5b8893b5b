//! One select over unlike things: a channel, the reply of a process, the answer of a flexible coroutine, a
//! thread that computes, and a time limit. Each is taken once, as it becomes ready.

use std::time::Duration;

use leno::channel::{Select, shared};
use leno::flexible::{self, Me};
use leno::kernel::{self, LocalSystem};
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flexible = flexible::System::new();
    let oracle = flexible.create("oracle", |me: &mut Me<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        me.detach(n + 1);
    });
    let processes = process::System::new(1)?;
    let clerk = processes.start(Clerk);
    let system = LocalSystem::new();
    let all = system.spawn(move || {
        let (tx, letters) = shared::channel();
        let mut reply = awaited(clerk.stamp("form".into()).expect("it serves"));
        let mut answer = awaited(oracle.call_async(41));
        let mut thread =
            awaited(kernel::spawn_local(|| kernel::blocking(|| (1..=10).product::<u64>())));
        let writer = kernel::spawn_local(move || {
            let _ = tx.send("a letter");
            kernel::sleep(Duration::from_secs(60)); // keeps the channel open
        });
        let mut all = Vec::new();
        while all.len() < 4 {
            let one = Select::new()
                .recv(&letters, |letter| letter.unwrap_or("nobody writes").to_owned())
                .source(&mut reply, |stamped| stamped.expect("it answers"))
                .source(&mut answer, |n| format!("the answer is {}", n.expect("it answers")))
                .source(&mut thread, |n| format!("ten factorial is {}", n.expect("it ends")))
                .after(Duration::from_secs(30), || "nothing for half a minute".to_owned());
            all.push(one.wait().expect("nobody is to exit"));
        }
        writer.cancel();
        all.sort(); // which is first is left to chance
        all
    });
    system.run()?;
    for one in all.join()? {
        println!("{one}");
    }
    processes.run()?;
    Ok(())
}
