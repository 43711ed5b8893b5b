//! A closure that is called once, in place of `Box<dyn FnOnce()>`: a small one lies in the value itself,
//! so that most coroutines are spawned without an allocation for their body.
//!
//! Claims:
//! - `words` holds an `F` for which it is large and aligned enough, and `acts` are those of that `F`;
//! - the `F` is moved out by a call, or dropped, once: both take the whole value;
//! - `'a` is what the closure borrows for. A closure is `Send` only inside a [`SendClosure`], which is
//!   made of nothing but an `F: Send`.

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};

const WORDS: usize = 4;
type Words = [MaybeUninit<usize>; WORDS];

/// See the module.
pub(crate) struct Closure<'a> {
    words: Words,
    acts: &'static Acts,
    of: PhantomData<dyn FnOnce() + 'a>,
}

/// What can be done with the words of a closure, once.
struct Acts {
    call: unsafe fn(*mut Words),
    drop: unsafe fn(*mut Words),
}

impl<'a> Closure<'a> {
    #[inline]
    pub(crate) fn new(f: impl FnOnce() + 'a) -> Closure<'a> {
        if fits(&f) { hold(f) } else { hold(Box::new(f)) }
    }

    #[inline]
    pub(crate) fn call(self) {
        let mut this = ManuallyDrop::new(self);
        let call = this.acts.call;
        // SAFETY: the acts are those of what the words hold, which is not touched again.
        unsafe { call(&raw mut this.words) };
    }
}

impl Drop for Closure<'_> {
    fn drop(&mut self) {
        // SAFETY: the acts are those of what the words hold, which is not touched again.
        unsafe { (self.acts.drop)(&raw mut self.words) };
    }
}

fn fits<F>(_: &F) -> bool {
    size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>()
}

#[inline]
fn hold<'a, F: FnOnce() + 'a>(f: F) -> Closure<'a> {
    assert!(fits(&f), "what is too large comes in a box");
    let mut words = [MaybeUninit::uninit(); WORDS];
    // SAFETY: the words are large and aligned enough.
    unsafe { words.as_mut_ptr().cast::<F>().write(f) };
    let acts = const { &Acts { call: call::<F>, drop: drop::<F> } };
    Closure { words, acts, of: PhantomData }
}

/// # Safety
/// The words hold an `F`, which is not used again.
unsafe fn call<F: FnOnce()>(words: *mut Words) {
    // SAFETY: by the contract.
    let f = unsafe { words.cast::<F>().read() };
    f();
}

/// # Safety
/// As for [`call`].
unsafe fn drop<F>(words: *mut Words) {
    // SAFETY: by the contract.
    unsafe { words.cast::<F>().drop_in_place() };
}

/// A closure that may go to another thread before it is called.
pub(crate) struct SendClosure(Closure<'static>);

// SAFETY: what it holds is `Send`, by its only constructor.
unsafe impl Send for SendClosure {}

impl SendClosure {
    #[inline]
    pub(crate) fn new(f: impl FnOnce() + Send + 'static) -> SendClosure {
        SendClosure(Closure::new(f))
    }

    pub(crate) fn into_inner(self) -> Closure<'static> {
        self.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn small_and_large_ones_are_called_or_dropped_once() {
        let (called, held) = (Cell::new(0), Rc::new(()));
        let large = [7_u64; 9];
        let add = |n: u64| called.set(called.get() + n);
        let (own, other) = (held.clone(), held.clone());
        let small = Closure::new(|| {
            let _own = own;
            add(1);
        });
        let boxed = Closure::new(move || {
            let _other = other;
            add(large.iter().sum());
        });
        #[repr(align(32))]
        struct Aligned(u8);
        let aligned = Aligned(100);
        let aligned = Closure::new(move || add(u64::from({ aligned }.0)));
        let never = Closure::new({
            let held = held.clone();
            move || core::mem::drop(held)
        });
        assert_eq!(Rc::strong_count(&held), 4);
        small.call();
        boxed.call();
        aligned.call();
        assert_eq!((called.get(), Rc::strong_count(&held)), (164, 2));
        core::mem::drop(never);
        assert_eq!(Rc::strong_count(&held), 1);
        Closure::new(|| ()).call();
    }

    #[test]
    fn one_may_go_to_another_thread() {
        let (tx, rx) = std::sync::mpsc::channel();
        let closure = SendClosure::new(move || tx.send(1).unwrap());
        std::thread::spawn(move || closure.into_inner().call()).join().unwrap();
        assert_eq!(rx.recv(), Ok(1));
    }
}
