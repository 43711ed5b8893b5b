//! Room for what recurses: types are written and compared as trees, and the stack of a fibre is small.

use leno_coroutine::{Builder, Step, Suspender, scope, stack_left};

/// What working with a type may need.
const ROOM: usize = 1 << 20;

/// Calls `f` where there is room: on a stack of its own, if that of the caller is too small.
pub(crate) fn roomy<R>(f: impl FnOnce() -> R) -> R {
    if stack_left().is_none_or(|left| left >= ROOM / 2) {
        return f();
    }
    scope(|s| {
        let builder = Builder::new().name("room").stack_size(ROOM);
        let room = s.coroutine_with(builder, |_: &Suspender<(), ()>, ()| f());
        match room.map(|room| room.resume(())) {
            Ok(Step::Finished(result)) => result,
            Ok(Step::Suspended(())) => unreachable!("it has nobody to suspend for"),
            Err(error) => panic!("no room to work with control types: {error}"),
        }
    })
}
