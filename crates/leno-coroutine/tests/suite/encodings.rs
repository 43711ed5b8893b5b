//! Coroutines are full in the sense of Dovland 2006: symmetric transfer can be written with
//! asymmetric coroutines and a dispatcher, and asymmetric calls with symmetric transfer, and the
//! same program then does the same, step by step.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::support::Log;
use leno_coroutine::ring::{self, Member};
use leno_coroutine::{Coroutine, Step, Suspender};

/// A body of the symmetric program: it is given the operation that transfers control.
type Symmetric = Rc<dyn Fn(&dyn Fn(usize))>;

/// Three coroutines that hand control about, not in turn, until each gives it to the main program.
fn symmetric_program(log: &Log) -> Vec<Symmetric> {
    // Whom each one transfers to, step by step; 0 is the main program.
    let plans: [&[usize]; 3] = [&[2, 3, 2, 0], &[3, 1, 0, 0], &[1, 3, 2, 0]];
    let body = |(own, plan): (usize, &'static [usize])| {
        let log = log.clone();
        Rc::new(move |transfer: &dyn Fn(usize)| {
            let mut sum = 0;
            for (step, &to) in plan.iter().enumerate() {
                sum += step * own;
                log.push(format!("{own}.{step}({sum}) "));
                transfer(to);
            }
        }) as Symmetric
    };
    (1..).zip(plans).map(body).collect()
}

/// Whom the main program transfers to.
const STARTS: [usize; 4] = [1, 1, 2, 3];

/// Runs it with the ring's own transfer.
fn symmetric_natively(log: &Log, bodies: Vec<Symmetric>) {
    let members: RefCell<Vec<Member>> = RefCell::default();
    ring::scope(|s| {
        let members = &members;
        members.borrow_mut().push(ring::current().expect("in a ring"));
        for body in bodies {
            let transfer = |to: usize| {
                let member = members.borrow()[to].clone();
                ring::yield_to(&member).expect("it waits");
            };
            let member = s.spawn(move || body(&transfer));
            members.borrow_mut().push(member);
        }
        for start in STARTS {
            log.push("main ");
            let member = members.borrow()[start].clone();
            ring::yield_to(&member).expect("it waits");
        }
        log.push("main");
    });
}

/// Runs it with asymmetric coroutines that detach with the number of the next one to a loop.
fn symmetric_by_dispatch(log: &Log, bodies: Vec<Symmetric>) {
    let coroutine = |body: Symmetric| {
        Coroutine::new(move |co: &Suspender<(), usize>, ()| body(&|to| co.suspend(to)))
    };
    let coroutines: Vec<Coroutine<(), usize>> = bodies.into_iter().map(coroutine).collect();
    let dispatch = |mut next: usize| {
        while next != 0 {
            next = match coroutines[next - 1].resume(()) {
                Step::Suspended(to) => to,
                Step::Finished(()) => 0,
            };
        }
    };
    for start in STARTS {
        log.push("main ");
        dispatch(start);
    }
    log.push("main");
}

#[test]
fn f7_symmetric_transfer_by_asymmetric_coroutines_and_a_dispatcher() {
    let (native, encoded) = (Log::new(), Log::new());
    symmetric_natively(&native, symmetric_program(&native));
    symmetric_by_dispatch(&encoded, symmetric_program(&encoded));
    assert_eq!(
        native.text(),
        "main 1.0(0) 2.0(0) 3.0(0) 1.1(1) 3.1(3) 3.2(9) 2.1(2) 1.2(3) 2.2(6) \
         main 1.3(6) main 2.3(12) main 3.3(18) main"
    );
    assert_eq!(native.text(), encoded.text());
}

/// The asymmetric pair, as a program sees it.
trait Asymmetric {
    /// Calls the coroutine of that name with a value; what it detaches with or returns.
    fn call(&self, name: &'static str, value: u32) -> u32;
    /// Detaches from the caller with a value; what it is next called with.
    fn detach(&self, value: u32) -> u32;
}

/// A body of the asymmetric program.
type Body = fn(&dyn Asymmetric, &Log, u32) -> u32;

/// `outer` calls `inner` several times a turn; both keep count.
fn asymmetric_program() -> [(&'static str, Body); 2] {
    let inner: Body = |co, log, mut n| {
        for turn in 1.. {
            log.push(format!("inner{turn}({n}) "));
            n = co.detach(n * 10 + turn);
        }
        n
    };
    let outer: Body = |co, log, mut n| {
        for turn in 1..=2 {
            let first = co.call("inner", n);
            let second = co.call("inner", first);
            log.push(format!("outer{turn}({first},{second}) "));
            n = co.detach(second);
        }
        n + 1
    };
    [("inner", inner), ("outer", outer)]
}

fn asymmetric_main(co: &dyn Asymmetric, log: &Log) {
    for n in [1, 2, 3] {
        log.push(format!("main({}) ", co.call("outer", n)));
    }
}

/// The coroutines of the program, by name.
type All = RefCell<BTreeMap<&'static str, Rc<Coroutine<u32, u32, u32>>>>;

/// Runs it with leno's own asymmetric coroutines.
struct Native {
    all: Rc<All>,
}

impl Asymmetric for Native {
    fn call(&self, name: &'static str, value: u32) -> u32 {
        let callee = self.all.borrow()[name].clone();
        callee.resume(value).into_value()
    }

    fn detach(&self, _: u32) -> u32 {
        panic!("the main program has no caller")
    }
}

/// What a body sees: calls as everyone, detaching by its own suspender.
struct Inside<'a>(Native, &'a Suspender<u32, u32>);

impl Asymmetric for Inside<'_> {
    fn call(&self, name: &'static str, value: u32) -> u32 {
        self.0.call(name, value)
    }

    fn detach(&self, value: u32) -> u32 {
        self.1.suspend(value)
    }
}

fn asymmetric_natively(log: &Log) {
    let main = Native { all: Rc::default() };
    for (name, body) in asymmetric_program() {
        let (all, log) = (Rc::downgrade(&main.all), log.clone());
        let coroutine = Coroutine::new(move |co: &Suspender<u32, u32>, first| {
            let all = all.upgrade().expect("the main program holds it");
            body(&Inside(Native { all }, co), &log, first)
        });
        main.all.borrow_mut().insert(name, Rc::new(coroutine));
    }
    asymmetric_main(&main, log);
    // Out of the map first: an unwinding coroutine holds the map itself.
    let all = main.all.take();
    drop(all);
}

/// Runs it with members of a ring that note their callers and transfer to them.
#[derive(Default)]
struct ByTransfer {
    members: RefCell<BTreeMap<&'static str, Member>>,
    /// Who called whom, innermost last.
    callers: RefCell<Vec<Member>>,
    /// The value on its way.
    value: Cell<u32>,
}

impl ByTransfer {
    fn transfer(&self, to: Member, value: u32) -> u32 {
        self.value.set(value);
        ring::yield_to(&to).expect("it waits");
        self.value.get()
    }

    fn caller(&self) -> Member {
        self.callers.borrow_mut().pop().expect("it was called")
    }
}

impl Asymmetric for ByTransfer {
    fn call(&self, name: &'static str, value: u32) -> u32 {
        let callee = self.members.borrow()[name].clone();
        self.callers.borrow_mut().push(ring::current().expect("in a ring"));
        self.transfer(callee, value)
    }

    fn detach(&self, value: u32) -> u32 {
        self.transfer(self.caller(), value)
    }
}

fn asymmetric_by_transfer(log: &Log) {
    let transfer = ByTransfer::default();
    ring::scope(|s| {
        let transfer = &transfer;
        for (name, body) in asymmetric_program() {
            let member = s.spawn(move || {
                let result = body(transfer, log, transfer.value.get());
                transfer.transfer(transfer.caller(), result);
            });
            transfer.members.borrow_mut().insert(name, member);
        }
        asymmetric_main(transfer, log);
    });
}

#[test]
fn f7_asymmetric_calls_by_symmetric_transfer() {
    let (native, encoded) = (Log::new(), Log::new());
    asymmetric_natively(&native);
    asymmetric_by_transfer(&encoded);
    assert_eq!(
        native.text(),
        "inner1(1) inner2(11) outer1(11,112) main(112) \
         inner3(2) inner4(23) outer2(23,234) main(234) main(4) "
    );
    assert_eq!(native.text(), encoded.text());
}
