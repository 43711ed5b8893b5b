use core::future::pending;
use core::task::Waker;
use std::sync::Arc;

use super::super::{Caller, Id, Leave, Next, Plan, Requester, Runs, Stackless, Table};
use crate::call::{AnyCall, Call};
use crate::party::Outsider;

/// A table, and who is being polled.
struct Side {
    table: Table,
    ids: Vec<Id>,
    polled: Option<(Id, Stackless)>,
    is_direct: bool,
    calls: Vec<Arc<Call<u32, u32>>>,
    served: u32,
}

impl Side {
    fn new(is_direct: bool) -> Side {
        let mut table = Table::new(None, None, false);
        let ids = ["a", "b", "c"].map(|name| {
            let plan = Plan {
                name: name.into(),
                attached_only: name == "c",
                priority: 0,
                serve: None,
                stack_size: None,
            };
            let (future, waker) = (Box::pin(pending()), Waker::noop().clone());
            table.add(plan, |_| Runs::Future(Stackless { future, waker, inner: None }))
        });
        Side { table, ids: ids.into(), polled: None, is_direct, calls: Vec::new(), served: 0 }
    }

    /// A thread calls, and steers if it can.
    fn call(&mut self, m: usize) {
        let call = Arc::new(Call::<u32, u32>::new(7));
        self.calls.push(call.clone());
        let call: Arc<dyn AnyCall> = call;
        let from = Requester::Outside(Outsider::here());
        let (mut caller, m) = (Some(Caller { from, call }), self.ids[m]);
        if self.is_direct
            && let Some(next) = self.table.call_directly(m, &mut caller)
        {
            self.served += 1;
            return self.begin(next);
        }
        let Caller { from, call } = caller.expect("nobody has called yet");
        let _ = self.table.call_from_outside(from, m, call);
        if self.table.take_helm() {
            self.schedule();
        }
    }

    fn begin(&mut self, next: Next) {
        match next {
            Next::Poll { id, stackless, .. } => self.polled = Some((id, stackless)),
            Next::Nobody => self.table.leave_helm(),
            Next::InVain => self.schedule(),
            Next::Run { .. } | Next::Ask(_) => unreachable!("nobody has a stack or a policy"),
        }
    }

    fn schedule(&mut self) {
        let next = self.table.schedule();
        self.begin(next);
    }

    /// The poll comes back, and has ended the turn so; whoever steers goes on.
    fn leave(&mut self, leave: Leave) {
        let Some((id, mut body)) = self.polled.take() else { return };
        if leave == Leave::Detach {
            let caller = self.table.cell(id).caller.as_ref().map(|caller| caller.call.clone());
            if let Some(call) = caller {
                crate::call::typed::<u32, u32>(&*call).put(Ok(8));
            }
            if self.is_direct {
                match self.table.detach_directly(id, body) {
                    Some(back) => body = back,
                    None => return self.served += 1,
                }
            }
        }
        self.table.leave(id, leave);
        self.table.polled(id, Some(body));
        self.schedule();
    }

    fn kick(&mut self, m: usize) {
        let from = Requester::Outside(Outsider::here());
        let _ = self.table.kick(&from, self.ids[m]);
        if self.table.take_helm() {
            self.schedule();
        }
    }

    /// The last caller gives up.
    fn withdraw(&mut self) {
        let Some(call) = self.calls.pop() else { return };
        let call: Arc<dyn AnyCall> = call;
        for m in self.ids.clone() {
            self.table.withdraw(m, &call);
        }
        if self.table.take_helm() {
            self.schedule();
        }
    }

    fn seen(&self) -> String {
        let settled: Vec<_> = self.calls.iter().map(|call| call.is_settled()).collect();
        let polled = self.polled.as_ref().map(|(id, _)| *id);
        let Table { active, is_steered, turns, .. } = &self.table;
        format!("{} {active:?} {is_steered} {turns} {polled:?} {settled:?}", self.table.snapshot())
    }
}

/// Whatever threads and coroutines do, it comes to the same.
#[test]
fn f13_what_is_served_directly_ends_as_by_the_rules_one_by_one() {
    let mut served = 0;
    for seed in 1..=500_u64 {
        let mut sides = [Side::new(true), Side::new(false)];
        let mut lot = seed;
        for step in 0..60 {
            lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            let (what, m) = (lot >> 33, (lot >> 50) as usize % 3);
            for side in &mut sides {
                match what % 16 {
                    0..6 => side.call(m),
                    6..11 => side.leave(Leave::Detach),
                    11 => side.leave(Leave::Passivate),
                    12 => side.leave(Leave::Yield),
                    13 | 14 => side.kick(m),
                    _ => side.withdraw(),
                }
            }
            let [direct, by_rules] = &sides;
            assert_eq!(direct.seen(), by_rules.seen(), "seed {seed}, step {step}, {what} on {m}");
        }
        served += sides[0].served;
    }
    assert!(served > 1_000, "{served} were served directly");
}

#[test]
fn nothing_is_served_directly_while_anything_else_is_to_be_done() {
    let mut side = Side::new(true);
    side.call(0);
    assert_eq!(side.served, 1);
    side.call(1);
    side.call(0);
    assert_eq!(side.served, 1, "one is active");
    side.leave(Leave::Detach);
    assert_eq!(side.served, 1, "others wait");
    side.leave(Leave::Detach);
    side.leave(Leave::Detach);
    assert_eq!(side.served, 2, "the last one");
    side.table.stop();
    side.call(0);
    assert_eq!(side.served, 2, "it has ended");
}
