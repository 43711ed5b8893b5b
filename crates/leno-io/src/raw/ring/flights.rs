//! Which operations of a ring fly, and what they carry.
//!
//! ```text
//!   free --add--> aloft --land--> landed --take--> free
//!                   |
//!                   +--abandon--> abandoned --land--> free
//! ```
//! A flight has one number until it is free again, which is never before the system has told of its end;
//! so a number names one operation, to us and to the system.
//!
//! What is taken out, waiters and cargo, is given to the caller: dropping it runs code of others, which
//! must not happen while the table is locked.

use std::fs::File;
use std::sync::Arc;

use leno_kernel::Waiter;

use crate::fs::buffer::Buffer;

/// What belongs to an operation until it has landed.
pub(super) struct Cargo {
    /// Keeps the descriptor open.
    #[allow(dead_code, reason = "it is here to be dropped late")]
    pub(super) file: Arc<File>,
    pub(super) buffer: Buffer,
}

/// What is left of a flight.
pub(super) struct Landed {
    /// As the system says it: an error's number is negative.
    pub(super) result: i32,
    pub(super) cargo: Option<Cargo>,
}

enum Flight {
    Free,
    Aloft { waiter: Option<Waiter>, cargo: Option<Cargo> },
    Abandoned { cargo: Option<Cargo> },
    Landed(Landed),
}

/// See the module.
#[derive(Default)]
pub(super) struct Flights {
    all: Vec<Flight>,
    free: Vec<u32>,
    aloft: usize,
}

impl Flights {
    pub(super) fn add(&mut self, cargo: Option<Cargo>) -> u32 {
        self.aloft += 1;
        let flight = Flight::Aloft { waiter: None, cargo };
        match self.free.pop() {
            Some(free) => {
                self.all[free as usize] = flight;
                free
            }
            None => {
                self.all.push(flight);
                u32::try_from(self.all.len() - 1).expect("there are fewer operations")
            }
        }
    }

    /// How many have not landed.
    pub(super) fn aloft(&self) -> usize {
        self.aloft
    }

    /// It has landed: whom to wake, and what to drop.
    pub(super) fn land(&mut self, flight: u32, result: i32) -> (Option<Waiter>, Option<Cargo>) {
        self.aloft -= 1;
        let place = &mut self.all[flight as usize];
        match core::mem::replace(place, Flight::Free) {
            Flight::Aloft { waiter, cargo } => {
                *place = Flight::Landed(Landed { result, cargo });
                (waiter, None)
            }
            Flight::Abandoned { cargo } => {
                self.free.push(flight);
                (None, cargo)
            }
            Flight::Free | Flight::Landed(_) => unreachable!("an operation lands once"),
        }
    }

    /// Whether it has landed.
    pub(super) fn has_landed(&self, flight: u32) -> bool {
        match &self.all[flight as usize] {
            Flight::Landed(_) => true,
            Flight::Aloft { .. } => false,
            Flight::Abandoned { .. } | Flight::Free => unreachable!("whoever asks has it"),
        }
    }

    /// If it has not landed, `new` is woken when it has. Gives who was to be woken before, or `new`.
    pub(super) fn set_waiter(&mut self, flight: u32, new: Waiter) -> Option<Waiter> {
        match &mut self.all[flight as usize] {
            Flight::Aloft { waiter, .. } => waiter.replace(new),
            _ => Some(new),
        }
    }

    /// Takes it, if it has landed.
    pub(super) fn take(&mut self, flight: u32) -> Option<Landed> {
        let place = &mut self.all[flight as usize];
        match core::mem::replace(place, Flight::Free) {
            Flight::Landed(landed) => {
                self.free.push(flight);
                Some(landed)
            }
            other => {
                *place = other;
                None
            }
        }
    }

    /// Nobody has it any more; gives whoever waited, and what it carried if it has landed.
    pub(super) fn abandon(&mut self, flight: u32) -> (Option<Waiter>, Option<Cargo>) {
        let place = &mut self.all[flight as usize];
        match core::mem::replace(place, Flight::Free) {
            Flight::Aloft { cargo, waiter } => {
                *place = Flight::Abandoned { cargo };
                (waiter, None)
            }
            Flight::Landed(landed) => {
                self.free.push(flight);
                (None, landed.cargo)
            }
            Flight::Free | Flight::Abandoned { .. } => unreachable!("whoever abandons has it"),
        }
    }

    /// Takes all who wait out of the table: they are to be woken, and look again. Not copies of them: to
    /// clone a waker is code of others.
    pub(super) fn take_waiters(&mut self) -> Vec<Waiter> {
        let waiter = |flight: &mut Flight| match flight {
            Flight::Aloft { waiter, .. } => waiter.take(),
            _ => None,
        };
        self.all.iter_mut().filter_map(waiter).collect()
    }

    /// An operation's own memory, to read into and to write from; it stays where it is.
    pub(super) fn memory(&mut self, flight: u32) -> &mut [u8] {
        match &mut self.all[flight as usize] {
            Flight::Aloft { cargo: Some(cargo), .. } => cargo.buffer.as_mut_slice(),
            _ => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_when_its_operation_has_landed_and_nobody_has_it() {
        let mut flights = Flights::default();
        let (first, second) = (flights.add(None), flights.add(None));
        assert!(flights.take(first).is_none() && flights.abandon(second).1.is_none());
        assert_eq!((flights.add(None), flights.aloft()), (2, 3));
        let _ = flights.land(first, 7);
        let _ = flights.land(second, -1);
        assert_eq!((flights.add(None), flights.aloft()), (second, 2));
        assert_eq!(flights.take(first).map(|landed| landed.result), Some(7));
        assert_eq!(flights.add(None), first);
    }
}
