//! The reverse: flexible coroutines built from a sequential object monitor. Its object is a configuration of
//! the model, whose rules are its methods; its scheduler lets a coroutine go on when it is the active one, and
//! a thread when its call is answered. The bodies are threads.

use std::sync::Arc;

use leno_explore::thread;
use leno_flexible::model::{Answer, Body, Configuration, Program, Value};
use leno_flexible::synchroniser::monitor::{Method, Monitor, Request};
use leno_flexible::{Me, System};
use leno_kernel::JoinHandle;

use super::explore;

type Operation = Box<dyn FnOnce(&mut Configuration) -> bool + Send>;

/// A system of flexible coroutines.
#[derive(Clone)]
struct Built {
    operate: Method<Operation, bool>,
    /// For each coroutine: waits until it is active, and gives its parameter.
    turn: Arc<Vec<Method<(), Option<Value>>>>,
    /// For each thread: waits until its call is answered.
    back: Arc<Vec<Method<(), Option<Answer>>>>,
}

/// Rules 4.16 to 4.18: what happens by itself, first come, first served.
fn settle(all: &mut Configuration) {
    for n in 0..all.coroutines.len() {
        let _ = all.rule_4_17(n, 0) || all.rule_4_18(n, 0);
    }
    if let (None, Some(next)) = (all.active(), all.queue.first()) {
        all.rule_4_16(*next);
    }
}

/// Who may go on.
fn may_run(all: &Configuration, request: &Request) -> bool {
    match request.method().split_once(' ') {
        Some(("turn", n)) => all.active() == n.parse().ok(),
        Some((_, t)) => t.parse().is_ok_and(|t: usize| all.threads[t].calls.is_none()),
        None => true,
    }
}

impl Built {
    fn new(system: &System, coroutines: usize, threads: usize) -> Built {
        let bodies = vec![Body::new([])];
        let (coroutines_of, threads_of) = (vec![0; coroutines], vec![vec![]; threads]);
        let program = Program { bodies, coroutines: coroutines_of, threads: threads_of };
        let scheduler = |all: &Configuration, waiting: &[Request]| {
            waiting.iter().position(|request| may_run(all, request))
        };
        let monitor = Monitor::with_scheduler(system, "built", program.begin(), scheduler);
        let operate = monitor.method("operate", |all: &mut Configuration, operation: Operation| {
            let done = operation(all);
            settle(all);
            assert_eq!(all.check(), Vec::<String>::new());
            done
        });
        let turn = |n: usize| {
            let parameter = move |all: &mut Configuration, ()| all.coroutines[n].parameter;
            monitor.method(format!("turn {n}"), parameter)
        };
        let back = |t: usize| {
            let answer = move |all: &mut Configuration, ()| all.threads[t].place.answer;
            monitor.method(format!("back {t}"), answer)
        };
        let turn = Arc::new((0..coroutines).map(turn).collect());
        Built { operate, turn, back: Arc::new((0..threads).map(back).collect()) }
    }

    /// Makes a spinning body of coroutine n: what it does with its parameter is answered.
    fn body(
        &self,
        n: usize,
        mut body: impl FnMut(Option<Value>) -> Value + Send + 'static,
    ) -> JoinHandle<()> {
        let own = self.clone();
        thread::spawn("body", move || {
            while let Ok(parameter) = own.turn[n].call(()) {
                let answer = body(parameter);
                let detach: Operation =
                    Box::new(move |all| all.rule_4_14(n, answer) || all.rule_4_6(n));
                if !own.operate.call(detach).is_ok_and(|is_done| is_done) {
                    return;
                }
            }
        })
    }

    fn call(&self, t: usize, m: usize, parameter: Value) -> Value {
        let call: Operation = Box::new(move |all| all.rule_4_12_phi2(t, m, parameter));
        assert!(self.operate.call(call).unwrap());
        match self.back[t].call(()).unwrap() {
            Some(Answer::Value(value)) => value,
            other => panic!("{other:?}"),
        }
    }

    fn kick(&self, t: usize, m: usize) {
        let kick: Operation = Box::new(move |all| {
            all.rule_4_15(t, m) || all.rule_4_15_phi1(t, m) || all.rule_4_15_phi2(t, m)
        });
        assert!(self.operate.call(kick).unwrap());
    }
}

/// A sum, and a count of kicks: what two threads see of them.
fn adds() -> impl FnMut(Option<Value>) -> Value + Send {
    let mut sum = 0;
    move |parameter| {
        sum += parameter.unwrap_or(0);
        sum
    }
}

fn counts() -> impl FnMut(Option<Value>) -> Value + Send {
    let mut kicks = 0;
    move |parameter| {
        kicks += u64::from(parameter.is_none());
        kicks
    }
}

#[test]
fn f92_flexible_coroutines_built_from_a_monitor() {
    explore(|| {
        let system = System::new();
        let built = Built::new(&system, 2, 2);
        let bodies = [built.body(0, adds()), built.body(1, counts())];
        let own = built.clone();
        let other = thread::spawn("other", move || {
            own.kick(1, 1);
            [own.call(1, 1, 0), own.call(1, 0, 3)]
        });
        let sum = built.call(0, 0, 4);
        let [kicks, other] = other.join().unwrap();
        // Each call has its own answer, whoever was first; and the kick was served before the call.
        assert!([(4, 7), (7, 3)].contains(&(sum, other)), "{sum}, {other}");
        assert_eq!(kicks, 1);
        drop(system);
        bodies.into_iter().for_each(|own| own.join().unwrap());
    });
}

/// The same on a system of leno's own gives the same.
#[test]
fn f92_the_same_on_the_real_ones() {
    explore(|| {
        fn make(
            system: &System,
            name: &'static str,
            mut body: impl FnMut(Option<Value>) -> Value + Send + 'static,
        ) -> leno_flexible::Flexible<Value, Value> {
            let spin = move |me: &mut Me<Value, Value>| {
                let parameter = me.parameter();
                me.detach(body(parameter));
            };
            let in_order = system.coroutine(name).serve(|_: &[_]| 0);
            in_order.create(leno_flexible::spinning(spin))
        }
        let system = System::new();
        let (sum, count) = (make(&system, "sum", adds()), make(&system, "count", counts()));
        let own = sum.clone();
        let other = thread::spawn("other", move || {
            count.kick().unwrap();
            [count.call(0).unwrap(), own.call(3).unwrap()]
        });
        let sum = sum.call(4).unwrap();
        let [kicks, other] = other.join().unwrap();
        assert!([(4, 7), (7, 3)].contains(&(sum, other)), "{sum}, {other}");
        assert_eq!(kicks, 1);
    });
}
