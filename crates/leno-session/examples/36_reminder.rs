//! Time and the world: a session that sleeps, waits for an answer for a limited time, and leaves letters to be sent. They
//! are delivered at least once; the key tells the post what it has had.

use std::collections::BTreeMap;
use std::time::Duration;

use leno_frame::{Co, resumable};
use leno_session::{Memory, Pace, Sessions, Stage, State, Wait};

type Order = Co<Wait, Option<String>, Stage>;

#[resumable]
async fn order(co: &mut Order, goods: String) -> String {
    for reminder in 1..=3 {
        co.ctx().effect("letter", format!("{reminder}: shall we send you {goods}?"));
        let answer = co.suspend(Wait::answer_within("yes or no?", Duration::from_millis(20))).await;
        match answer.as_deref() {
            Some("yes") => return format!("{goods} were sent"),
            Some(_) => return format!("nobody wants {goods}"),
            None => {}
        }
    }
    format!("nobody answers about {goods}")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pace = Pace { ttl: Duration::from_millis(200), ..Pace::default() };
    let sessions = Sessions::open(Memory::new()).register("order", order).pace(pace);
    let workers = sessions.workers(2);
    let answered = sessions.start("order", &("apples",))?;
    let ignored = sessions.start("order", &("pears",))?;
    sessions.answer(answered, "yes")?;

    // The post loses every second letter, so each is tried until it has it.
    let (mut tries, mut post) = (0, BTreeMap::new());
    while sessions.count()?.get(&State::Done) != Some(&2) || post.len() < 4 {
        sessions.deliver(10, |letter| {
            tries += 1;
            if tries % 2 == 1 {
                return Err("lost");
            }
            post.insert((letter.session != answered, letter.sequence), letter.body.clone());
            Ok(())
        })?;
        std::thread::sleep(Duration::from_millis(5));
    }
    workers.drain()?;
    for letter in post.values() {
        println!("letter {}", String::from_utf8_lossy(letter));
    }
    for id in [answered, ignored] {
        println!("{}", sessions.show(id)?.text());
    }
    Ok(())
}
