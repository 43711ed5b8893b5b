//! Panics of explored programs are noted, not printed: a failing schedule is run many times.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use leno_kernel::world;

thread_local! {
    /// Where the first panic of the current run was.
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes the panics of explored programs from now on; others are reported as before.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !world::is_here() {
                return before(info);
            }
            let site = info.location().map(ToString::to_string);
            FIRST.with_borrow_mut(|first| {
                first.get_or_insert(site.unwrap_or_default());
            });
        }));
    });
}

/// Where the first panic since the last call was.
pub(crate) fn take_site() -> Option<String> {
    FIRST.with_borrow_mut(Option::take)
}
