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
//! The table is the state of a wait queue; who waits for a flight is in the line of its number.
//!
//! The cargo that is taken out is given to the caller: dropping it must not happen while the table is locked.

use std::fs::File;
use std::sync::Arc;

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
    Aloft { cargo: Option<Cargo> },
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
        let flight = Flight::Aloft { cargo };
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

    /// How many numbers there are: those below this one.
    pub(super) fn numbers(&self) -> usize {
        self.all.len()
    }

    /// How many have not landed.
    pub(super) fn aloft(&self) -> usize {
        self.aloft
    }

    /// It has landed: what to drop. Those who wait for it are to be woken.
    pub(super) fn land(&mut self, flight: u32, result: i32) -> Option<Cargo> {
        self.aloft -= 1;
        let place = &mut self.all[flight as usize];
        match core::mem::replace(place, Flight::Free) {
            Flight::Aloft { cargo } => {
                *place = Flight::Landed(Landed { result, cargo });
                None
            }
            Flight::Abandoned { cargo } => {
                self.free.push(flight);
                cargo
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

    /// Nobody has it any more; gives what it carried, if it has landed.
    pub(super) fn abandon(&mut self, flight: u32) -> Option<Cargo> {
        let place = &mut self.all[flight as usize];
        match core::mem::replace(place, Flight::Free) {
            Flight::Aloft { cargo } => {
                *place = Flight::Abandoned { cargo };
                None
            }
            Flight::Landed(landed) => {
                self.free.push(flight);
                landed.cargo
            }
            Flight::Free | Flight::Abandoned { .. } => unreachable!("whoever abandons has it"),
        }
    }

    /// An operation's own memory, to read into and to write from; it stays where it is.
    pub(super) fn memory(&mut self, flight: u32) -> &mut [u8] {
        match &mut self.all[flight as usize] {
            Flight::Aloft { cargo: Some(cargo) } => cargo.buffer.as_mut_slice(),
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
        assert!(flights.take(first).is_none() && flights.abandon(second).is_none());
        assert_eq!((flights.add(None), flights.aloft()), (2, 3));
        let _ = flights.land(first, 7);
        let _ = flights.land(second, -1);
        assert_eq!((flights.add(None), flights.aloft()), (second, 2));
        assert_eq!(flights.take(first).map(|landed| landed.result), Some(7));
        assert_eq!(flights.add(None), first);
    }
}
