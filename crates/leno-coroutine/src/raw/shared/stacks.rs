//! A bounded number of stacks, and making coroutines on them.

use core::panic::Location;
use core::ptr::NonNull;
use std::cell::RefCell;
use std::rc::Rc;

use leno_context::control::{self, Control, Kind, Main};
use leno_context::stack::{StackError, StackSize};

use super::Coroutine;
use super::coroutine::main;
use super::home::Home;
use crate::shared::Counters;
use crate::{Builder, CreateError, Suspender};

/// A bounded number of stacks for any number of coroutines.
///
/// The first coroutines get a stack each; from then on they share those there are, spread by a
/// hash of their id. A suspended coroutine whose stack is used by another one lives in a buffer
/// of just its frames' size, some hundred bytes.
#[derive(Clone)]
pub struct Stacks {
    inner: Rc<Inner>,
}

struct Inner {
    limit: usize,
    size: StackSize,
    homes: RefCell<Vec<NonNull<Home>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for home in self.homes.take() {
            // SAFETY: freed below, unless someone is bound to it.
            if unsafe { home.as_ref() }.is_unused() {
                // SAFETY: every coroutine that was bound to it has ended.
                unsafe { Home::free(home) };
            }
        }
    }
}

impl Stacks {
    /// Up to `limit` stacks of the default size; at least one.
    pub fn new(limit: usize) -> Stacks {
        Stacks::with_size(limit, StackSize::DEFAULT.bytes()).expect("the default size exists")
    }

    /// Up to `limit` stacks of at least `bytes`.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn with_size(limit: usize, bytes: usize) -> Result<Stacks, CreateError> {
        let size = StackSize::holding(bytes).map_err(CreateError::of_size)?;
        let inner = Inner { limit: limit.max(1), size, homes: RefCell::default() };
        Ok(Stacks { inner: Rc::new(inner) })
    }

    /// Makes a coroutine on one of these stacks.
    ///
    /// # Safety
    /// While the coroutine is suspended, and while another one runs that shares its stack and that it has resumed, its
    /// frames may be moved out of place. So nothing outside it may use a reference into its frames across a suspension or
    /// such a call: no `std::thread::scope` or other scope may span one, no I/O or waiter may refer to a local, and it is
    /// not suspended by a coroutine further in through its suspender. What waits by leno, at a channel or the like, holds
    /// the frames where they are by itself.
    ///
    /// # Errors
    /// When there is no memory for a stack.
    #[track_caller]
    pub unsafe fn coroutine<F, In, Out, Ret>(
        &self,
        body: F,
    ) -> Result<Coroutine<In, Out, Ret>, CreateError>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        // SAFETY: forwarded.
        unsafe { self.coroutine_with(Builder::new(), body) }
    }

    /// As [`Self::coroutine`], with the builder's name. Its stack size is not used.
    ///
    /// # Safety
    /// As for [`Self::coroutine`].
    ///
    /// # Errors
    /// When there is no memory for a stack.
    #[track_caller]
    pub unsafe fn coroutine_with<F, In, Out, Ret>(
        &self,
        builder: Builder,
        body: F,
    ) -> Result<Coroutine<In, Out, Ret>, CreateError>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        let site = Location::caller();
        let made =
            self.create(builder, site, None, Kind::Asymmetric, main::<F, In, Out, Ret>, body);
        made.map(|(control, home)| Coroutine::new(control, home, self.clone()))
    }

    /// As [`Self::coroutine`], on the stack that `other` is on.
    ///
    /// # Safety
    /// As for [`Self::coroutine`].
    ///
    /// # Errors
    /// When there is no memory.
    #[track_caller]
    pub unsafe fn beside<F, In, Out, Ret, In2, Out2, Ret2>(
        &self,
        other: &Coroutine<In2, Out2, Ret2>,
        body: F,
    ) -> Result<Coroutine<In, Out, Ret>, CreateError>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        let site = Location::caller();
        let (beside, main) = (Some(other.home()), main::<F, In, Out, Ret> as Main);
        let made = self.create(Builder::new(), site, beside, Kind::Asymmetric, main, body);
        made.map(|(control, home)| Coroutine::new(control, home, self.clone()))
    }

    /// Makes a control block for a coroutine on a home, with its body on the heap.
    pub(super) fn create<F>(
        &self,
        builder: Builder,
        site: &'static Location<'static>,
        home: Option<NonNull<Home>>,
        kind: Kind,
        main: Main,
        body: F,
    ) -> Result<(NonNull<Control>, NonNull<Home>), CreateError> {
        let spec = builder.spec(site, kind)?;
        let control = control::spare_block();
        // SAFETY: a spare block is ours.
        unsafe { control::set_up(control.as_ptr(), spec, None, main) };
        // SAFETY: just set up.
        let block = unsafe { control.as_ref() };
        let home = match home.map_or_else(|| self.home_for(block.id(), site), Ok) {
            Ok(home) => home,
            Err(why) => {
                let error = CreateError::new(why, block.name().clone(), site);
                // SAFETY: nobody else knows it.
                unsafe { control::give_back_block(control) };
                return Err(error);
            }
        };
        // SAFETY: a home of these stacks.
        let place = unsafe { home.as_ref() };
        let (low, top) = place.range();
        block.set_range(low.addr(), top.addr());
        block.give_boxed_body(Box::new(body));
        // SAFETY: set up above; it starts at the home's top once it has been brought in.
        unsafe { control::start_at(control, low, top) };
        // SAFETY: a coroutine of this thread was made.
        unsafe { leno_context::thread::current().count_live(1) };
        Ok((control, home))
    }

    fn home_for(
        &self,
        id: u64,
        site: &'static Location<'static>,
    ) -> Result<NonNull<Home>, StackError> {
        let mut homes = self.inner.homes.borrow_mut();
        if homes.len() < self.inner.limit {
            let home = Home::new(self.inner.size, site)?;
            homes.push(home);
            return Ok(home);
        }
        // Fibonacci hashing: neighbouring ids land far apart, all homes are used alike.
        let hash = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        Ok(homes[hash as usize % homes.len()])
    }

    /// What copying has been done on these stacks so far.
    pub fn counters(&self) -> Counters {
        let homes = self.inner.homes.borrow();
        // SAFETY: live as long as these stacks.
        homes.iter().map(|home| unsafe { home.as_ref() }.counters()).sum()
    }

    /// How many stacks there are by now.
    pub fn stacks(&self) -> usize {
        self.inner.homes.borrow().len()
    }
}

impl core::fmt::Debug for Stacks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Stacks({} of {})", self.stacks(), self.inner.limit)
    }
}
