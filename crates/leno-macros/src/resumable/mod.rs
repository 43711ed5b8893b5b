//! `#[resumable]`: async functions whose suspended state can be stored; `leno-frame` documents it.
//!
//! An `async fn` keeps its body, as far as types, borrows, `?`, labels and order of drops go, and gains
//! two abilities: *capture* writes what is live at the suspension it is at, and *rewind* enters the same
//! body at a suspension, with what was captured. The steps, a module each: `normal` brings suspensions
//! to where they stand alone, `resolve` finds out which variables names mean, `live` what each
//! suspension needs, `lower` makes the code, `item` puts it into the function it came from.

mod find;
mod ir;
mod item;
mod live;
mod lower;
mod names;
mod normal;
mod options;
mod receiver;
mod resolve;
mod signature;

pub(crate) use item::expand;
