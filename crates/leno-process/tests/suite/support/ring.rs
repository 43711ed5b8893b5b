//! Processes in a ring, which pass a token on.

use std::time::Duration;

use super::kernel::sleep;
use super::layer::{System, process};

#[derive(Default)]
pub(crate) struct Member {
    next: Option<MemberRef>,
    passes: u32,
    has_it: bool,
}

#[process(pub(crate))]
impl Member {
    #[entry]
    fn follow(&mut self, next: MemberRef) {
        self.next = Some(next);
    }

    /// Passes it on so often; who gets it last keeps it.
    #[entry]
    pub(crate) fn pass(&mut self, left: u32) {
        self.passes += 1;
        match (left, &self.next) {
            (0, _) | (_, None) => self.has_it = true,
            (left, Some(next)) => next.pass(left - 1).unwrap(),
        }
    }

    /// Sleeps, and passes one on once.
    #[entry]
    pub(crate) fn nap(&mut self, millis: u64) {
        sleep(Duration::from_millis(millis));
        self.pass(1);
    }

    /// How often it has had one, and whether it has one.
    #[entry]
    pub(crate) fn state(&mut self) -> (u32, bool) {
        (self.passes, self.has_it)
    }
}

pub(crate) fn ring(system: &System, members: usize) -> Vec<MemberRef> {
    let all: Vec<_> = (0..members).map(|_| system.start(Member::default())).collect();
    for (n, member) in all.iter().enumerate() {
        member.follow(all[(n + 1) % members].clone()).unwrap();
    }
    all
}

/// How often a token was passed, once all are idle.
pub(crate) fn passes(ring: &[MemberRef]) -> u32 {
    let all: Vec<_> = ring.iter().map(|member| member.state().unwrap()).collect();
    all.into_iter().map(|state| state.wait().unwrap().0).sum()
}
