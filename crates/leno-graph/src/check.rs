//! What is checked before anything runs.

use crate::error::BuildError;
use crate::plan::{Shape, WireAbout};

/// The first rule that a graph breaks, if it does.
pub(crate) fn check(shape: &Shape, is_deterministic: bool) -> Result<(), BuildError> {
    for wire in &shape.wires {
        if wire.capacity == 0 {
            return Err(BuildError::NoCapacity { channel: wire.name.clone() });
        }
        if is_deterministic {
            check_single(shape, wire)?;
        }
        check_connected(shape, wire)?;
    }
    Ok(())
}

/// At most one sender and one receiver. A node that was given two ends of a channel is one.
fn check_single(shape: &Shape, wire: &WireAbout) -> Result<(), BuildError> {
    let channel = wire.name.clone();
    let senders = shape.senders(wire);
    if senders.len() > 1 {
        return Err(BuildError::ManySenders { channel, nodes: senders });
    }
    let receivers = shape.receivers(wire);
    if receivers.len() > 1 {
        return Err(BuildError::ManyReceivers { channel, nodes: receivers });
    }
    Ok(())
}

/// Somebody at the other end, or somebody outside who may be.
fn check_connected(shape: &Shape, wire: &WireAbout) -> Result<(), BuildError> {
    let (senders, receivers) = (shape.senders(wire), shape.receivers(wire));
    let channel = wire.name.clone();
    match (senders.is_empty(), receivers.is_empty()) {
        (true, false) => Err(BuildError::NoSender { channel, nodes: receivers }),
        (false, true) => Err(BuildError::NoReceiver { channel, nodes: senders }),
        _ => Ok(()),
    }
}
