//! `select!`: a [`Select`](super::Select) whose bodies are no closures.
//!
//! Each handler only says which alternative it was, so that bodies stand outside of all closures:
//! `return`, `break`, `?` and borrows work in them as in a `match`.

/// This alternative, or one of the others; what `select!` works with.
#[derive(Clone, Copy, Debug)]
pub enum Which<T, O> {
    /// The first one of those that are left.
    This(T),
    /// One of the others.
    Other(O),
}

/// Waits for one of several things; see [`Select`](crate::Select), of which it is a shorthand.
///
/// Gives a `Result<_, SelectError>` with what the body gave. `priority;` in front takes the first that is
/// ready, `async;` awaits instead of blocking.
///
/// # Examples
/// ```
/// use leno_channel::{bounded, channel, select};
/// use std::time::Duration;
///
/// let (work, jobs) = bounded::<u32>(3);
/// let (out, _results) = bounded::<u32>(0);
/// let (_stop, stopped) = channel::<()>();
/// work.send(2)?;
/// work.send(3)?;
/// let mut product = 1;
/// loop {
///     select! {
///         recv(jobs) -> job => product *= job?,
///         recv(stopped) -> _ => break,
///         send(out, product) -> sent => { sent?; break }
///         after(Duration::from_millis(5)) => break,
///     }?
/// }
/// assert_eq!(product, 6);
/// assert!(select! { recv(jobs) -> _ => false, default => true }?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! select {
    (priority; $($arms:tt)+) => {
        $crate::__select!(@arm (wait) [$crate::Select::new().priority()] [] $($arms)+)
    };
    (async; $($arms:tt)+) => {
        $crate::__select!(@arm (wait_async) [$crate::Select::new()] [] $($arms)+)
    };
    ($($arms:tt)+) => {
        $crate::__select!(@arm (wait) [$crate::Select::new()] [] $($arms)+)
    };
}

/// The steps of [`select!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // One arm after the other: its head, then its body.
    (@arm $how:tt $new:tt $done:tt recv($from:expr) -> $what:pat => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (recv ($from)) ($what) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt send($to:expr, $value:expr) -> $what:pat => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (send ($to) ($value)) ($what) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt join($($from:expr),+) -> $what:pat => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (join $(($from))+) ($what) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt source($source:expr) -> $what:pat => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (source ($source)) ($what) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt after($limit:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (after ($limit)) (()) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt deadline($time:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (deadline ($time)) (()) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt default => $($rest:tt)+) => {
        $crate::__select!(@body $how $new $done (default) (()) $($rest)+)
    };
    (@arm $how:tt $new:tt $done:tt $($other:tt)+) => {
        ::core::compile_error!(
            "an alternative is one of `recv(from) -> value => ..`, `send(to, value) -> sent => ..`, \
             `join(one, other) -> both => ..`, `source(what) -> value => ..`, `after(limit) => ..`, \
             `deadline(time) => ..`, `default => ..`"
        )
    };
    (@body $how:tt $new:tt [$($done:tt)*] $head:tt $what:tt $body:block, $($rest:tt)*) => {
        $crate::__select!(@arm $how $new [$($done)* ($head $what $body)] $($rest)*)
    };
    (@body $how:tt $new:tt [$($done:tt)*] $head:tt $what:tt $body:block $($rest:tt)*) => {
        $crate::__select!(@arm $how $new [$($done)* ($head $what $body)] $($rest)*)
    };
    (@body $how:tt $new:tt [$($done:tt)*] $head:tt $what:tt $body:expr, $($rest:tt)*) => {
        $crate::__select!(@arm $how $new [$($done)* ($head $what $body)] $($rest)*)
    };
    (@body $how:tt $new:tt [$($done:tt)*] $head:tt $what:tt $body:expr) => {
        $crate::__select!(@arm $how $new [$($done)* ($head $what $body)])
    };

    // All arms are known: the select, then the bodies.
    (@arm $how:tt $new:tt [$($arm:tt)+]) => {
        match $crate::__select!(@build $how $new [] $($arm)+) {
            ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
            ::core::result::Result::Ok(which) => {
                #[allow(unreachable_code, reason = "bodies may leave")]
                let result = $crate::__select!(@bodies which $($arm)+);
                #[allow(unreachable_code, reason = "bodies may leave")]
                ::core::result::Result::Ok(result)
            }
        }
    };

    (@build (wait) [$($new:tt)*] $depth:tt) => { $($new)*.wait() };
    (@build (wait_async) [$($new:tt)*] $depth:tt) => { $($new)*.wait_async().await };
    (@build $how:tt [$($new:tt)*] [$($depth:tt)*] ((recv ($from:expr)) $what:tt $body:expr) $($rest:tt)*) => {
        $crate::__select!(@build $how
            [$($new)*.recv(&$from, |what| $crate::__select!(@wrap what $($depth)*))]
            [$($depth)* +] $($rest)*)
    };
    (@build $how:tt [$($new:tt)*] [$($depth:tt)*] ((send ($to:expr) ($value:expr)) $what:tt $body:expr) $($rest:tt)*) => {
        $crate::__select!(@build $how
            [$($new)*.send(&$to, $value, |what| $crate::__select!(@wrap what $($depth)*))]
            [$($depth)* +] $($rest)*)
    };
    (@build $how:tt [$($new:tt)*] [$($depth:tt)*] ((join $(($from:expr))+) $what:tt $body:expr) $($rest:tt)*) => {
        $crate::__select!(@build $how
            [$($new)*.join(($(&$from),+), |what| $crate::__select!(@wrap what $($depth)*))]
            [$($depth)* +] $($rest)*)
    };
    (@build $how:tt [$($new:tt)*] [$($depth:tt)*] ((source ($from:expr)) $what:tt $body:expr) $($rest:tt)*) => {
        $crate::__select!(@build $how
            [$($new)*.source($from, |what| $crate::__select!(@wrap what $($depth)*))]
            [$($depth)* +] $($rest)*)
    };
    (@build $how:tt [$($new:tt)*] [$($depth:tt)*] ((default) $what:tt $body:expr) $($rest:tt)*) => {
        $crate::__select!(@build $how
            [$($new)*.default(|| $crate::__select!(@wrap () $($depth)*))]
            [$($depth)* +] $($rest)*)
    };
    (@build $how:tt [$($new:tt)*] [$($depth:tt)*] (($kind:ident ($time:expr)) $what:tt $body:expr) $($rest:tt)*) => {
        $crate::__select!(@build $how
            [$($new)*.$kind($time, || $crate::__select!(@wrap () $($depth)*))]
            [$($depth)* +] $($rest)*)
    };

    (@wrap $what:tt) => { $crate::Which::This($what) };
    (@wrap $what:tt + $($depth:tt)*) => {
        $crate::Which::Other($crate::__select!(@wrap $what $($depth)*))
    };

    (@bodies $which:tt) => {{
        let never: ::core::convert::Infallible = $which;
        match never {}
    }};
    (@bodies $which:tt ($head:tt ($what:pat) $body:expr) $($rest:tt)*) => {
        match $which {
            $crate::Which::This($what) => $body,
            $crate::Which::Other(other) => $crate::__select!(@bodies other $($rest)*),
        }
    };
}
