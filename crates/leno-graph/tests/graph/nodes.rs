//! Nodes that many tests use, written once for all modes.

use leno_graph::{NodeCx, Receiver, Schedule, Sender, Source};

/// Runs a block in each of the four modes; `$graph` is an empty graph.
macro_rules! in_all_modes {
    (|$graph:ident| $body:block) => {{
        $crate::nodes::in_deterministic_modes!(|$graph| $body);
        $crate::nodes::in_other_modes!(|$graph| $body);
    }};
}

macro_rules! in_deterministic_modes {
    (|$graph:ident| $body:block) => {{
        {
            #[allow(unused_mut)]
            let mut $graph = leno_graph::Graph::deterministic().sequential();
            $body
        }
        {
            #[allow(unused_mut)]
            let mut $graph = leno_graph::Graph::deterministic().parallel(2);
            $body
        }
    }};
}

macro_rules! in_other_modes {
    (|$graph:ident| $body:block) => {{
        {
            #[allow(unused_mut)]
            let mut $graph = leno_graph::Graph::nondeterministic().sequential();
            $body
        }
        {
            #[allow(unused_mut)]
            let mut $graph = leno_graph::Graph::nondeterministic().parallel(2);
            $body
        }
    }};
}

pub(crate) use {in_all_modes, in_deterministic_modes, in_other_modes};

/// Sends `from..to`, then closes.
pub(crate) fn range<S: Schedule>(
    from: i32,
    to: i32,
) -> impl FnOnce(&NodeCx<'_, S>, Sender<i32, S>) {
    move |cx, out| {
        for i in from..to {
            if !out.send(cx, i) {
                return;
            }
        }
    }
}

/// Receives until close, then sends one list.
pub(crate) fn collect<X: Source>(
    cx: &NodeCx<'_, X::S>,
    (from, to): (Receiver<X>, Sender<Vec<X::Item>, X::S>),
) {
    to.send(cx, from.iter(cx).collect());
}

/// Maps; when the input closes or a send fails, cancels the input and closes the output.
pub(crate) fn map<X: Source, U>(
    f: impl Fn(X::Item) -> U,
) -> impl FnOnce(&NodeCx<'_, X::S>, (Receiver<X>, Sender<U, X::S>)) {
    move |cx, (from, to)| {
        while let Some(item) = from.receive(cx) {
            if !to.send(cx, f(item)) {
                break;
            }
        }
        from.cancel();
        to.close();
    }
}

/// Sends `true` until a send fails or 100 have succeeded after the first; then how many have.
pub(crate) fn cancellable<S: Schedule>(
    cx: &NodeCx<'_, S>,
    (out, quit): (Sender<bool, S>, Sender<i32, S>),
) {
    let mut count = 0;
    if out.send(cx, true) {
        while count < 100 && out.send(cx, true) {
            count += 1;
        }
    }
    quit.send(cx, count);
}

/// Forwards until it sees `last`, then cancels the input and closes the output.
pub(crate) fn breaker<X: Source<Item = i32>>(
    last: i32,
) -> impl FnOnce(&NodeCx<'_, X::S>, (Receiver<X>, Sender<i32, X::S>)) {
    move |cx, (from, to)| {
        while let Some(item) = from.receive(cx) {
            if item == last {
                break;
            }
            to.send(cx, item);
        }
        from.cancel();
        to.close();
    }
}
