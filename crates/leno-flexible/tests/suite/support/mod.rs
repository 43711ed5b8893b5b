//! Runs a program of the model on the real system, and takes each step of the one in the other.

mod own;
mod random;
mod stackless;
mod watch;

use own::Own;
pub(crate) use random::random_program;
pub(crate) use watch::{in_time, text, until};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use leno_explore::thread;
use leno_flexible::model::{
    Answer, Body, Configuration, Effect, Freedom, Operation, Process, Program, Refusal as Why,
    Step, Target, Value,
};
use leno_flexible::{
    CallError, Event, Flexible, Label, Me, MigrantMe, Party, Refusal, Rule, Snapshot, State,
    System, Threadless, What, spinning, spinning_migrant,
};
use leno_kernel::{Reason, Waiter, park};

/// How long somebody waits who does not wait for ever; the world's time is virtual.
const LIMIT: std::time::Duration = std::time::Duration::from_nanos(1);

type Handle = Flexible<Value, Value>;

/// What was seen in all runs.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) rules: BTreeMap<Rule, u64>,
    pub(crate) configurations: HashSet<Configuration>,
    /// Whether configurations are collected.
    pub(crate) collects: bool,
    pub(crate) steps: u64,
}

/// The model beside a system that runs.
struct Mirror {
    program: Arc<Program>,
    model: Configuration,
    /// Coroutines by name.
    names: HashMap<Arc<str>, usize>,
    last: Option<(Rule, Process)>,
    /// The first thread, which ends the run when nothing can happen any more.
    main: Waiter,
    is_over: bool,
    wrong: Option<String>,
    seen: Arc<Mutex<Seen>>,
}

impl Mirror {
    fn process(&self, party: &Party) -> Option<Process> {
        match party {
            Party::Coroutine(name) => Some(Process::Coroutine(self.names[name])),
            Party::Thread(name) => name.strip_prefix('t')?.parse().ok().map(Process::Thread),
        }
    }

    /// The real system has done something: so must the model.
    fn see(&mut self, event: &Event, snapshot: &Snapshot) {
        // The coroutines that are there from the beginning.
        let Some(by) = self.process(&event.by).filter(|_| self.wrong.is_none()) else { return };
        let before = self.model.clone();
        let steps = self.steps(event, by);
        let mut wrong = Vec::new();
        for step in steps {
            self.model = before.clone();
            match self.matches(event, snapshot, step) {
                Ok(()) => {
                    self.note(event, by);
                    return;
                }
                Err(what) => wrong.push(format!("{step:?}: {what}")),
            }
        }
        let wrong = wrong.join("\n");
        self.fail(format!(
            "{event} in {before:#?}\nis no step of the model:\n{wrong}\n{snapshot:#?}"
        ));
    }

    /// The first thread tells what is wrong, and ends the run.
    fn fail(&mut self, what: String) {
        self.wrong.get_or_insert(what);
        self.is_over = true;
        self.main.clone().wake();
    }

    /// The steps of the model that may be meant.
    fn steps(&self, event: &Event, by: Process) -> Vec<Step> {
        match (&event.what, by) {
            (What::Applied(Rule::Schedule | Rule::ScheduleInVain), Process::Coroutine(n)) => {
                vec![Step::Schedule(n)]
            }
            (What::Applied(rule @ (Rule::AttachCall | Rule::AttachKick)), _) => {
                let label = if *rule == Rule::AttachCall { Label::Call } else { Label::Kick };
                let coroutine = self.names[event.on.as_ref().expect("attached to someone")];
                let requests = self.model.coroutines[coroutine].requests.iter().enumerate();
                let meant = requests.filter(|(_, own)| own.from == by && own.label == label);
                meant.map(|(place, _)| Step::Attach { coroutine, place }).collect()
            }
            (What::Applied(Rule::Return), Process::Coroutine(n)) => vec![Step::Return(n)],
            (What::Applied(Rule::WithdrawPending | Rule::WithdrawServed), _) => {
                vec![Step::GiveUp(by)]
            }
            _ => vec![Step::Perform(by)],
        }
    }

    fn matches(&mut self, event: &Event, snapshot: &Snapshot, step: Step) -> Result<(), String> {
        if !self.model.steps(&self.program, Freedom::PROMPT).contains(&step) {
            return Err("it cannot happen now".to_owned());
        }
        let created = self.model.coroutines.len();
        let effect = self.model.take(&self.program, step);
        if self.model.coroutines.len() > created {
            self.names.insert(event.on.clone().expect("it has a name"), created);
        }
        let expected = match &event.what {
            What::Applied(rule) => Effect::Applied(*rule),
            What::Refused(refusal) => Effect::Refused(why(refusal)),
            other => return Err(format!("{other:?} is unknown")),
        };
        if effect != expected {
            return Err(format!("it has come to {effect:?}"));
        }
        let checked = self.model.check();
        if !checked.is_empty() {
            return Err(checked.join(", "));
        }
        self.compare(snapshot)
    }

    /// Every coroutine of both is in the same state, with the same links and requests.
    fn compare(&self, snapshot: &Snapshot) -> Result<(), String> {
        let queue: Vec<usize> = snapshot.queue.iter().map(|name| self.names[name]).collect();
        if queue != self.model.queue {
            return Err(format!("the queues are {queue:?} and {:?}", self.model.queue));
        }
        for (name, n) in &self.names {
            let model = &self.model.coroutines[*n];
            let Some(real) = snapshot.get(name) else {
                match model.state {
                    State::Terminated => continue,
                    state => return Err(format!("{name} is gone, not {state}")),
                }
            };
            let caller = real.caller.as_ref().and_then(|party| self.process(party));
            let callee = real.callee.as_ref().map(|name| self.names[name]);
            let requests = real.requests.iter().map(|own| (self.process(&own.from), own.label));
            let expected = model.requests.iter().map(|own| (Some(own.from), own.label));
            let expected_callee = model.callee.or(model.waits_for);
            let equal = (real.state, caller, callee)
                == (model.state, model.caller, expected_callee)
                && requests.eq(expected);
            if !equal {
                return Err(format!("{name} is {real:?} and {model:?}"));
            }
        }
        Ok(())
    }

    fn note(&mut self, event: &Event, by: Process) {
        let mut seen = self.seen.lock().unwrap();
        seen.steps += 1;
        if let What::Applied(rule) = event.what {
            *seen.rules.entry(rule).or_default() += 1;
            // 4.12 is 4.12φ2 and 4.17 in one.
            let is_both = self.last == Some((Rule::CallByThreadPlain, by));
            if rule == Rule::AttachCall && is_both {
                *seen.rules.entry(Rule::CallByThread).or_default() += 1;
            }
            self.last = Some((rule, by));
        }
        if seen.collects {
            seen.configurations.insert(self.model.clone());
        }
        drop(seen);
        self.look_for_end();
    }

    fn look_for_end(&mut self) {
        if self.model.steps(&self.program, Freedom::PROMPT).is_empty() {
            self.is_over = true;
            self.main.clone().wake();
        }
    }
}

fn why(refusal: &Refusal) -> Why {
    match refusal {
        Refusal::Cycle { .. } => Why::Cycle,
        Refusal::Busy { .. } => Why::Busy,
        Refusal::Terminated { .. } => Why::Terminated,
        other => panic!("{other}"),
    }
}

/// What a coroutine does in each round of its body.
struct Round {
    own: Interpreter,
    operations: Vec<Operation>,
    rounds: Option<u32>,
    left: u32,
    /// The coroutine that it has created last.
    made: Option<Handle>,
}

impl Round {
    fn run(&mut self, me: &mut impl Own) {
        let Round { own, operations, rounds, left, made } = self;
        let n = own.mirror.lock().unwrap().names[&me.name()];
        for (at, operation) in operations.iter().enumerate() {
            own.perform(me, n, at, *operation, made);
        }
        // A spinning one that may not begin again stays at its end.
        while rounds.is_some() && *left == 0 {
            me.passivate();
        }
        *left = left.saturating_sub(1);
    }
}

/// What runs a program, for all its processes.
#[derive(Clone)]
struct Interpreter {
    mirror: Arc<Mutex<Mirror>>,
    program: Arc<Program>,
    handles: Arc<Mutex<Vec<Handle>>>,
}

impl Interpreter {
    fn target(&self, target: Target, made: &Option<Handle>) -> Handle {
        match target {
            Target::Named(n) => self.handles.lock().unwrap()[n].clone(),
            Target::Made => made.clone().expect("programs create before they use"),
        }
    }

    /// The model must have got the same answer.
    fn compare_answers(&self, process: Process, answer: &Result<Value, CallError>) {
        let answer = match answer {
            Ok(value) => Answer::Value(*value),
            Err(CallError::NoAnswer { .. }) => Answer::Nothing,
            Err(CallError::TimedOut { .. }) => Answer::TimedOut,
            // The run is over.
            Err(CallError::Refused(Refusal::Stopped { .. })) => return,
            Err(CallError::Refused(refusal)) => Answer::Refused(why(refusal)),
            Err(other) => panic!("{other}"),
        };
        let mut mirror = self.mirror.lock().unwrap();
        let expected = mirror.model.place(process).answer;
        if Some(answer) != expected && mirror.wrong.is_none() {
            mirror.fail(format!("{process:?} has got {answer:?}, in the model {expected:?}"));
        }
    }

    fn rounds_of(&self, body: usize) -> Round {
        let Body { operations, rounds, .. } = self.program.bodies[body].clone();
        Round { own: self.clone(), operations, rounds, left: rounds.unwrap_or(0), made: None }
    }

    fn perform<M: Own>(
        &self,
        me: &mut M,
        n: usize,
        at: usize,
        operation: Operation,
        made: &mut Option<Handle>,
    ) {
        let process = Process::Coroutine(n);
        match operation {
            Operation::Create(body) => {
                let name = format!("{}.{}", me.name(), self.fresh());
                *made = Some(me.create(self, name, body));
            }
            Operation::Call(_) | Operation::CallWait(_) | Operation::CallLimited(_) => {
                let parameter = Program::parameter(process, at);
                let answer = match operation {
                    Operation::Call(target) => me.call(&self.target(target, made), parameter),
                    Operation::CallWait(target) => {
                        me.call_wait(&self.target(target, made), parameter)
                    }
                    Operation::CallLimited(target) => {
                        me.call_limited(&self.target(target, made), parameter)
                    }
                    _ => unreachable!("it is a call"),
                };
                self.compare_answers(process, &answer);
            }
            Operation::Detach => {
                let parameter = me.parameter();
                me.detach(Program::answer(n, at, parameter));
            }
            Operation::Resume(target) => drop(me.resume(&self.target(target, made))),
            Operation::Kick(target) => drop(self.target(target, made).kick()),
            Operation::Prod(target) => drop(self.target(target, made).prod()),
            Operation::Passivate => me.passivate(),
            Operation::Wait => me.wait_outside(),
            Operation::Yield => me.yield_now(),
        }
    }

    /// A number that no other coroutine's name has.
    fn fresh(&self) -> usize {
        self.mirror.lock().unwrap().names.len()
    }

    fn thread(&self, t: usize, system: &Real) {
        let process = Process::Thread(t);
        let mut made = None;
        for (at, operation) in self.program.threads[t].iter().enumerate() {
            match operation {
                Operation::Create(body) => {
                    let name = format!("t{t}.{}", self.fresh());
                    made = Some(system.create(self, name, *body));
                }
                Operation::Call(target) => {
                    let answer = self.target(*target, &made).call(Program::parameter(process, at));
                    if let Err(CallError::Refused(Refusal::Stopped { .. })) = answer {
                        return;
                    }
                    self.compare_answers(process, &answer);
                }
                Operation::CallWait(target) | Operation::CallLimited(target) => {
                    let (target, parameter) =
                        (self.target(*target, &made), Program::parameter(process, at));
                    let answer = match operation {
                        Operation::CallWait(_) => target.call_wait(parameter),
                        _ => target.call_timeout(parameter, LIMIT),
                    };
                    if let Err(CallError::Refused(Refusal::Stopped { .. })) = answer {
                        return;
                    }
                    self.compare_answers(process, &answer);
                }
                Operation::Kick(target) => drop(self.target(*target, &made).kick()),
                Operation::Prod(target) => drop(self.target(*target, &made).prod()),
                other => panic!("a thread cannot {other:?}"),
            }
        }
    }
}

/// A system, of either kind.
enum Real {
    Home(System),
    Threadless(Threadless),
    Migratable(Threadless),
}

impl Real {
    fn create(&self, own: &Interpreter, name: String, body: usize) -> Handle {
        match self {
            Real::Home(system) => create(own, system.coroutine(name), body),
            Real::Threadless(system) => stackless::create(own, system.coroutine(name), body),
            Real::Migratable(system) => create_migratable(own, system.coroutine(name), body),
        }
    }

    fn stop(&self) {
        match self {
            Real::Home(system) => system.stop(),
            Real::Threadless(system) | Real::Migratable(system) => system.stop(),
        }
    }
}

/// Makes a coroutine of this body on a home core.
fn create(own: &Interpreter, builder: leno_flexible::Builder, body: usize) -> Handle {
    let Body { attached_only, rounds, .. } = &own.program.bodies[body];
    let builder = if *attached_only { builder.attached_only() } else { builder };
    let mut round = own.rounds_of(body);
    match rounds {
        Some(_) => builder.create(spinning(move |me: &mut Me<Value, Value>| round.run(me))),
        None => builder.create(move |me: &mut Me<Value, Value>| round.run(me)),
    }
}

/// The same for one whose stack goes from thread to thread.
fn create_migratable(
    own: &Interpreter,
    builder: leno_flexible::AsyncBuilder,
    body: usize,
) -> Handle {
    let Body { attached_only, rounds, .. } = &own.program.bodies[body];
    let builder = if *attached_only { builder.attached_only() } else { builder };
    let mut round = own.rounds_of(body);
    let body = move |me: &mut MigrantMe<Value, Value>| round.run(me);
    match rounds {
        // SAFETY: the body keeps nothing while it waits but what may be sent.
        Some(_) => unsafe { builder.create_migratable(spinning_migrant(body)) },
        // SAFETY: as above.
        None => unsafe { builder.create_migratable(body) },
    }
}

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// On a home core, with stacks.
    Home,
    /// By the threads that call, without stacks.
    Threadless,
    /// By the threads that call, with stacks.
    Migratable,
}

/// Runs a program in the calling code's world, with the model beside it.
pub(crate) fn run(mode: Mode, program: &Arc<Program>, seen: &Arc<Mutex<Seen>>) {
    let mirror = Arc::new(Mutex::new(Mirror {
        program: program.clone(),
        model: program.begin(),
        names: (0..program.coroutines.len()).map(|n| (format!("c{n}").into(), n)).collect(),
        last: None,
        main: Waiter::current(),
        is_over: false,
        wrong: None,
        seen: seen.clone(),
    }));
    if seen.lock().unwrap().collects {
        seen.lock().unwrap().configurations.insert(program.begin());
    }
    let observer = mirror.clone();
    let builder = System::builder()
        .observer_with_snapshots(move |event, seen| observer.lock().unwrap().see(event, seen));
    let system = Arc::new(match mode {
        Mode::Home => Real::Home(builder.build()),
        Mode::Threadless => Real::Threadless(builder.threadless()),
        Mode::Migratable => Real::Migratable(builder.threadless()),
    });
    let handles = Arc::new(Mutex::new(Vec::new()));
    let own = Interpreter { mirror: mirror.clone(), program: program.clone(), handles };
    for (n, body) in program.coroutines.iter().enumerate() {
        let handle = system.create(&own, format!("c{n}"), *body);
        own.handles.lock().unwrap().push(handle);
    }
    mirror.lock().unwrap().look_for_end();
    let threads: Vec<_> = (0..program.threads.len())
        .map(|t| {
            let (own, system) = (own.clone(), system.clone());
            thread::spawn(format!("t{t}"), move || own.thread(t, &system))
        })
        .collect();
    while !mirror.lock().unwrap().is_over {
        park(Reason::Passive);
    }
    system.stop();
    // Those who waited for ever are told that the system has ended.
    for thread in threads {
        thread.join().unwrap();
    }
    // Handles and bodies refer to each other.
    own.handles.lock().unwrap().clear();
    if let Some(wrong) = mirror.lock().unwrap().wrong.take() {
        panic!("{wrong}");
    }
}
