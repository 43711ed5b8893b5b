//! A process that is stored and goes on in another process of the operating system, and bodies that are
//! stored as a journal of their inputs.

use std::process::Command;

use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};
use leno::process::{Plan, Refused, System, process};
use serde::{Deserialize, Serialize};

type Dialogue = Co<String, String>;

#[resumable]
async fn order(co: &mut Dialogue) -> String {
    let what = co.suspend("what?".into()).await;
    let mut count = 0;
    for _ in 0..2 {
        let more = co.suspend(format!("{count} {what} so far, how many more?")).await;
        count += more.parse().unwrap_or(0);
    }
    format!("{count} {what}")
}

/// A process whose state is a coroutine that can be stored.
struct Clerk {
    dialogue: Resumable<String, String, String>,
    says: String,
    /// Calls that wait while it has a break.
    queue: Vec<String>,
    has_break: bool,
}

/// All of it, as data.
#[derive(Serialize, Deserialize)]
struct Stored {
    dialogue: Vec<u8>,
    says: String,
    queue: Vec<String>,
}

impl Clerk {
    fn new() -> Clerk {
        let (dialogue, state) = Resumable::start(&mut (), order, ());
        let (State::Suspended(says) | State::Complete(says)) = state;
        Clerk { dialogue, says, queue: Vec::new(), has_break: false }
    }

    fn thaw(stored: Stored) -> Clerk {
        let image = Image::from_bytes(stored.dialogue).unwrap();
        let dialogue = Resumable::restore(order, &image, &Options::new()).unwrap();
        Clerk { dialogue, says: stored.says, queue: stored.queue, has_break: false }
    }

    fn step(&mut self, answer: String) {
        let (State::Suspended(says) | State::Complete(says)) =
            self.dialogue.resume(&mut (), answer);
        self.says = says;
    }
}

#[process]
impl Clerk {
    #[entry]
    fn answer(&mut self, text: String) {
        if self.has_break {
            self.queue.push(text);
        } else {
            self.step(text);
        }
    }

    #[entry]
    fn rest(&mut self) {
        self.has_break = true;
    }

    /// Serves what has waited.
    #[entry]
    fn work(&mut self) -> String {
        self.has_break = false;
        for text in std::mem::take(&mut self.queue) {
            self.step(text);
        }
        self.says.clone()
    }

    /// Everything, between two entries: nothing of it runs, and it holds no lock.
    #[entry]
    fn freeze(&mut self) -> Vec<u8> {
        let dialogue = self.dialogue.snapshot(Format::Postcard).unwrap().into_bytes();
        let stored = Stored { dialogue, says: self.says.clone(), queue: self.queue.clone() };
        serde_json::to_vec(&stored).unwrap()
    }
}

/// Where the other process finds what was stored.
const FILE: &str = "LENO_TEST_STORED_PROCESS";

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn i03_a_process_is_stored_with_its_queue_and_goes_on_in_a_new_one() {
    let system = System::new(1).unwrap();
    let clerk = system.start_with(Plan::new().name("clerk"), Clerk::new());
    clerk.answer("apples".into()).unwrap();
    clerk.answer("4".into()).unwrap();
    clerk.rest().unwrap();
    clerk.answer("3".into()).unwrap();
    let frozen = clerk.freeze().unwrap().wait().unwrap();
    // From now on its address is of nobody: messages come back.
    clerk.stop();
    system.run().unwrap();
    let Err(Refused { arguments, .. }) = clerk.answer("lost?".into()) else {
        panic!("it is stopped");
    };
    assert_eq!(arguments, "lost?");

    let file = std::env::temp_dir().join(format!("leno-i03-{}", std::process::id()));
    std::fs::write(&file, frozen).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stored::i03_in_the_new_process", "--ignored", "--nocapture"])
        .env(FILE, &file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("the clerk says: 7 apples"), "{text}");
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "the other process of i03"]
fn i03_in_the_new_process() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let stored: Stored = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(stored.says, "4 apples so far, how many more?");
    let system = System::new(1).unwrap();
    let clerk = system.start(Clerk::thaw(stored));
    println!("the clerk says: {}", clerk.work().unwrap().wait().unwrap());
    drop(clerk);
    system.run().unwrap();
}

/// A body that is a function of its inputs, stored as those.
#[derive(Serialize, Deserialize, Default)]
struct Journal {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl Journal {
    /// Runs a body up to where the journal ends; `Err` with the first output that differs.
    fn replay(
        &self,
        body: impl FnOnce(&leno::Suspender<u32, u32>, u32) -> u32 + 'static,
    ) -> Result<leno::Coroutine<u32, u32, u32>, (usize, u32)> {
        let co = leno::Coroutine::new(body);
        for (at, (input, output)) in self.inputs.iter().zip(&self.outputs).enumerate() {
            let (leno::Step::Suspended(found) | leno::Step::Finished(found)) = co.resume(*input);
            if found != *output {
                return Err((at, found));
            }
        }
        Ok(co)
    }
}

/// On an ordinary stack, as deep as it likes: nothing of it is data.
fn running_sum(co: &leno::Suspender<u32, u32>, first: u32) -> u32 {
    fn deeper(co: &leno::Suspender<u32, u32>, sum: u32, left: u32) -> u32 {
        match left {
            0 => sum,
            _ => deeper(co, sum + co.suspend(sum), left - 1),
        }
    }
    deeper(co, first, 4)
}

#[test]
fn c12_a_deterministic_body_on_a_stack_is_stored_as_a_journal_and_drift_is_refused() {
    let co = leno::Coroutine::new(running_sum);
    let mut journal = Journal::default();
    for input in [1, 2, 3] {
        let leno::Step::Suspended(output) = co.resume(input) else { panic!("too early") };
        journal.inputs.push(input);
        journal.outputs.push(output);
    }
    drop(co);
    let stored = serde_json::to_string(&journal).unwrap();
    let journal: Journal = serde_json::from_str(&stored).unwrap();
    let co = journal.replay(running_sum).map_err(|drift| format!("{drift:?}")).unwrap();
    assert_eq!(co.resume(4), leno::Step::Suspended(10));
    assert_eq!(co.resume(5), leno::Step::Finished(15));
    // A later build that computes otherwise is found out where it first differs, before it goes on.
    let drifted = journal.replay(|co, first| {
        let second = co.suspend(first);
        co.suspend(first * second);
        0
    });
    assert_eq!(drifted.err(), Some((1, 2)));
}
