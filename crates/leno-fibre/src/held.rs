//! A fibre that is held against its control type: a wrong event stops it, and says where.
//!
//! Every read and write is told to a monitor before it happens, and so is the end of the body.
//! Starvation and blockage are allowed anywhere. A channel whose name is a port of the type is that
//! port; every other one is the port without a name.

use leno_channel::Label;
use leno_context::user::StateCell;
use leno_control::{ControlType, Event, Monitor, Port, Violation};

use crate::room::roomy;

/// See the module.
pub(crate) struct Held {
    monitor: StateCell<Monitor>,
    /// Whether the type speaks of ports by name, or of spawns.
    has_ports: bool,
    has_spawns: bool,
}

impl Held {
    pub(crate) fn to(control: &ControlType) -> Held {
        let events = control.events();
        let is_named = |event: &Event| event.port().is_some_and(|port| *port != Port::UNNAMED);
        Held {
            monitor: StateCell::new(roomy(|| Monitor::new(control))),
            has_ports: events.iter().any(is_named),
            has_spawns: events.contains(&Event::Spawn),
        }
    }

    pub(crate) fn reads(&self, label: impl FnOnce() -> Label) -> Result<(), Violation> {
        self.step(Event::Read, label)
    }

    pub(crate) fn writes(&self, label: impl FnOnce() -> Label) -> Result<(), Violation> {
        self.step(Event::Write, label)
    }

    fn step(
        &self,
        event: impl Fn(Port) -> Event,
        label: impl FnOnce() -> Label,
    ) -> Result<(), Violation> {
        let mut monitor = self.monitor.borrow_mut();
        let named =
            if self.has_ports { Port::new(label().name().unwrap_or("")).ok() } else { None };
        match named.map(&event).filter(|event| monitor.letter(event).is_some()) {
            Some(event) => monitor.step(&event),
            None => monitor.step(&event(Port::UNNAMED)),
        }
    }

    /// A type that says nothing of spawns allows them.
    pub(crate) fn spawns(&self) -> Result<(), Violation> {
        match self.has_spawns {
            true => self.monitor.borrow_mut().step(&Event::Spawn),
            false => Ok(()),
        }
    }

    pub(crate) fn ends(&self) -> Result<(), Violation> {
        self.monitor.borrow().end()
    }
}
