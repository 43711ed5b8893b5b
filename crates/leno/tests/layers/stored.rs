//! A process that is stored and goes on in another process of the operating system, and bodies that are
//! stored as a journal of their inputs.

use std::process::Command;

use leno::frame::journal::{Journal, JournalError, Journaled};
use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};
use leno::process::{Plan, Refused, System, process};
use leno::{Coroutine, Step, Suspender};
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

type Sum = Coroutine<u32, u32, u32>;

/// Starts a body on a stack, and says how it goes on.
fn on_a_stack(co: Sum, first: u32) -> (impl FnMut(u32) -> State<u32, u32>, State<u32, u32>) {
    let go = move |input| match co.resume(input) {
        Step::Suspended(output) => State::Suspended(output),
        Step::Finished(result) => State::Complete(result),
    };
    let state = go(first);
    (go, state)
}

/// On an ordinary stack, as deep as it likes: nothing of it is data.
fn running_sum(co: &Suspender<u32, u32>, first: u32) -> u32 {
    fn deeper(co: &Suspender<u32, u32>, sum: u32, left: u32) -> u32 {
        match left {
            0 => sum,
            _ => deeper(co, sum + co.suspend(sum), left - 1),
        }
    }
    deeper(co, first, 4)
}

#[test]
fn c12_a_deterministic_body_on_a_stack_is_stored_as_a_journal_and_drift_is_refused() {
    let sum = |first| on_a_stack(Coroutine::new(running_sum), first);
    let (mut body, state) = Journaled::start("sum", 1, sum).unwrap();
    assert_eq!(state, State::Suspended(1));
    for input in [2, 3] {
        body.resume(input).unwrap();
    }
    let bytes = body.journal().to_bytes();
    drop(body);
    let journal = Journal::from_bytes(&bytes).unwrap();
    let (mut body, state) = Journaled::replay("sum", &journal, sum).unwrap();
    assert_eq!(state, State::Suspended(6));
    assert_eq!(body.resume(4).unwrap(), State::Suspended(10));
    assert_eq!(body.resume(5).unwrap(), State::Complete(15));
    // A later build that computes otherwise is found out where it first differs, before it goes on.
    let product = |first| {
        let body = |co: &Suspender<u32, u32>, first| {
            let second = co.suspend(first);
            co.suspend(first * second);
            0
        };
        on_a_stack(Coroutine::new(body), first)
    };
    let drifted = Journaled::replay("sum", &journal, product);
    assert!(matches!(drifted, Err(JournalError::Drift { step: 1 })));
}
