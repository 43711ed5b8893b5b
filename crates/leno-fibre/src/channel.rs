//! How to make a channel.

use leno_channel::Named;
use leno_kernel::Name;
use leno_kernel::layer::ledger::Side;

use crate::scheduler::Scheduler;
use crate::wire::{Hold, Wire};
use crate::{In, Out};

/// A channel: an end to write to, and one to read from. Whoever comes first waits for the other.
///
/// It is empty at first. Made inside a run, [`look`](crate::Cx::look) lists it.
///
/// # Examples
/// ```
/// leno_fibre::run(|cx| {
///     let (out, inp) = leno_fibre::channel();
///     cx.spawn(move |cx| (1..=10).for_each(|i| out.write(cx, i)));
///     cx.spawn(move |cx| loop { println!("{}", inp.read(cx)) });
/// });
/// ```
pub fn channel<T>() -> (Out<T>, In<T>) {
    ends(leno_channel::channel())
}

/// The same with a name, which messages and reports use.
///
/// # Examples
/// ```
/// let (out, _inp) = leno_fibre::named_channel::<u32>("orders");
/// assert_eq!(format!("{out:?}"), "Out('orders')");
/// ```
pub fn named_channel<T>(name: impl Into<Name>) -> (Out<T>, In<T>) {
    ends(leno_channel::channel().named(name))
}

fn ends<T>((sender, receiver): (leno_channel::Sender<T>, leno_channel::Receiver<T>)) -> Ends<T> {
    let wire = Wire::new(sender.object());
    if let Some(scheduler) = Scheduler::current() {
        scheduler.knows(&wire);
    }
    let out = Out { sender, hold: Hold::free(wire.clone(), Side::Sending) };
    let inp = In { receiver, hold: Hold::free(wire, Side::Receiving) };
    (out, inp)
}

type Ends<T> = (Out<T>, In<T>);
