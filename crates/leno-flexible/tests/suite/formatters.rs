//! What systems, bodies and errors are written into may use them: nothing is locked meanwhile.

use std::fmt::{self, Write};
use std::sync::{Arc, OnceLock};

use leno_flexible::synchroniser::ReadWrite;
use leno_flexible::{AsyncMe, CallError, Flexible, Me, System, Threadless};

use super::support::in_time;

/// Calls `f` at each piece of text.
struct Calls<F>(F, String);

impl<F: FnMut()> Write for Calls<F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        (self.0)();
        self.1.push_str(text);
        Ok(())
    }
}

/// Writes it into something that calls `f`.
fn write(shown: &impl fmt::Debug, f: impl FnMut()) -> String {
    let mut calls = Calls(f, String::new());
    write!(calls, "{shown:?}").unwrap();
    calls.1
}

#[test]
fn what_a_body_is_written_into_may_look_at_its_system() {
    in_time(|| {
        let (system, place) = (System::new(), Arc::new(OnceLock::<Flexible<(), String>>::new()));
        let own = place.clone();
        let shows = system.create("shows", move |me: &mut Me<(), String>| {
            let own = own.get().unwrap();
            let text = write(me, || drop(own.look()));
            me.answer(text);
        });
        assert!(place.set(shows.clone()).is_ok());
        assert_eq!(shows.call(()).unwrap(), "Me(shows[ACTIVE])");
    });
}

#[test]
fn what_a_lock_is_written_into_may_use_it() {
    in_time(|| {
        let system = Threadless::new();
        let stock = ReadWrite::new(&system, "stock", 0);
        let text = write(&stock, || drop(stock.try_read()));
        assert_eq!(text, "ReadWrite(Arrival, inside: 0 readers, 0 writers; asking: 0, 0)");
    });
}

#[test]
fn what_a_failure_is_written_into_may_write_it_again() {
    in_time(|| {
        let system = Threadless::new();
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("no") });
        let Err(CallError::Failed(failure)) = fails.call(()) else { panic!("it has failed") };
        let text = write(&failure, || assert!(failure.to_string().ends_with("no")));
        assert_eq!(text, failure.to_string());
    });
}
