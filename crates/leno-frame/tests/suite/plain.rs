//! The same source as an ordinary `async fn`: what a resumable function is compared with.

use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use leno_frame::{Entry, Format, Image, Options, Resumable, Routine, State};

/// What a program writes down as it runs: its context.
pub(crate) type Log = Vec<String>;

/// What it is given, one after the other.
pub(crate) const INPUTS: [i64; 40] = [
    3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5,
    0, 2, 8, 8, 4, 1, 9, 7,
];

struct Shared {
    yielded: Option<i64>,
    input: Option<i64>,
    log: Log,
}

/// A handle with the operations of `Co<i64, i64, Log>`.
pub(crate) struct Plain(Rc<RefCell<Shared>>, Log);

pub(crate) struct Suspend(Option<i64>, Rc<RefCell<Shared>>, PhantomData<Log>);

impl Future for Suspend {
    type Output = i64;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<i64> {
        match self.0.take() {
            Some(value) => {
                self.1.borrow_mut().yielded = Some(value);
                Poll::Pending
            }
            None => Poll::Ready(self.1.borrow_mut().input.take().expect("an input")),
        }
    }
}

impl Plain {
    pub(crate) fn suspend(&mut self, value: i64) -> Suspend {
        self.0.borrow_mut().log.append(&mut self.1);
        Suspend(Some(value), self.0.clone(), PhantomData)
    }

    /// Its own part of the log, which is joined to the whole at the next suspension.
    pub(crate) fn ctx(&mut self) -> &mut Log {
        &mut self.1
    }
}

/// What a program yields, what it returns if it gets there, and its log.
pub(crate) type Outcome = (Vec<i64>, Option<String>, Log);

/// Runs the plain form with the first `max` inputs.
pub(crate) fn run_plain<T: std::fmt::Debug>(
    max: usize,
    f: impl AsyncFnOnce(&mut Plain) -> T,
) -> Outcome {
    let shared = Rc::new(RefCell::new(Shared { yielded: None, input: None, log: Log::new() }));
    let mut co = Plain(shared.clone(), Log::new());
    let mut inputs = INPUTS.iter().copied().take(max);
    let (mut yields, mut result) = (Vec::new(), None);
    {
        let mut future = pin!(f(&mut co));
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match future.as_mut().poll(&mut cx) {
                Poll::Ready(value) => {
                    result = Some(format!("{value:?}"));
                    break;
                }
                Poll::Pending => {
                    let value = shared.borrow_mut().yielded.take();
                    yields.push(value.expect("a value"));
                    match inputs.next() {
                        Some(input) => shared.borrow_mut().input = Some(input),
                        None => break,
                    }
                }
            }
        }
    }
    let mut log = std::mem::take(&mut shared.borrow_mut().log);
    log.append(&mut co.1);
    (yields, result, log)
}

/// Runs the resumable form; with a format, it is stored, dropped and restored at every suspension.
pub(crate) fn run_stored<R, A, F>(max: usize, entry: F, args: A, format: Option<Format>) -> Outcome
where
    R: Routine<Yield = i64, Input = i64, Context = Log, Output: std::fmt::Debug>,
    F: Entry<R, A> + Copy,
{
    let mut log = Log::new();
    let (mut resumable, mut state) = Resumable::start(&mut log, entry, args);
    let mut yields = Vec::new();
    let mut inputs = INPUTS.iter().copied().take(max);
    loop {
        match state {
            State::Complete(value) => return (yields, Some(format!("{value:?}")), log),
            State::Suspended(value) => yields.push(value),
        }
        if let Some(format) = format {
            let bytes = resumable.snapshot(format).expect("it can be stored").into_bytes();
            drop(resumable);
            let image = Image::from_bytes(bytes).expect("an image");
            resumable = Resumable::restore(entry, &image, &Options::new())
                .unwrap_or_else(|error| panic!("{error}: {image:?}"));
        }
        let Some(input) = inputs.next() else { return (yields, None, log) };
        state = resumable.resume(&mut log, input);
    }
}

#[allow(dead_code, reason = "not every test has side effects")]
pub(crate) fn side(log: &mut Log, value: i64) -> i64 {
    log.push(format!("side {value}"));
    value
}

macro_rules! log {
    ($co:ident, $($arg:tt)*) => { $co.ctx().push(format!($($arg)*)) };
}

/// Every program twice, as plain async code and as resumable functions, compared over several lengths of
/// input, without storing and with.
macro_rules! both {
    ($($name:ident: $arg:expr; { $($source:tt)* })*) => { $(
        mod $name {
            #[allow(unused, for_loops_over_fallibles, clippy::all)]
            mod plain {
                use crate::plain::*;
                type H = Plain;
                both!(@plain $($source)*);
            }
            #[allow(unused, for_loops_over_fallibles, clippy::all)]
            mod stored {
                use crate::plain::*;
                type H = leno_frame::Co<i64, i64, Log>;
                both!(@stored $($source)*);
            }
            #[test]
            fn same() {
                use crate::plain::*;
                use leno_frame::Format;
                for max in [0, 1, 2, 3, 5, 8, 40] {
                    let want = run_plain(max, async |co: &mut Plain| plain::main(co, $arg).await);
                    for format in [None, Some(Format::Postcard), Some(Format::Json)] {
                        let got = run_stored(max, stored::main, ($arg,), format);
                        assert_eq!(want, got, "{format:?}, {max} inputs");
                    }
                }
            }
        }
    )* };
    (@plain $($(#[$m:meta])* async fn $n:ident ($($p:tt)*) $(-> $r:ty)? $b:block)*) => {
        $( $(#[$m])* pub(super) async fn $n ($($p)*) $(-> $r)? $b )*
    };
    (@stored $($(#[$m:meta])* async fn $n:ident ($($p:tt)*) $(-> $r:ty)? $b:block)*) => {
        $( $(#[$m])* #[leno_frame::resumable] pub(super) async fn $n ($($p)*) $(-> $r)? $b )*
    };
}

/// The plain form alone, to see whether it compiles.
#[allow(unused_macros, reason = "used by generated programs")]
macro_rules! plain_only {
    ($($name:ident: $arg:expr; { $($source:tt)* })*) => { $(
        mod $name {
            use crate::plain::*;
            type H = Plain;
            both!(@plain $($source)*);
        }
    )* };
}
