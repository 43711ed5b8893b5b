//! The attribute `#[resumable]` of leno's frames: see the crate `leno-frame`, or `leno::frame`.
//!
//! An `async fn` keeps its body, as far as types, borrows, `?`, labels and order of drops go, and gains
//! two abilities: *capture* writes what is live at the suspension it is at, and *rewind* enters the same
//! body at a suspension, with what was captured. The steps, a module each: `normal` brings suspensions
//! to where they stand alone, `resolve` finds out which variables names mean, `live` what each
//! suspension needs, `lower` makes the code, `item` puts it into the function it came from.
#![forbid(unsafe_code)]

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
mod root;
mod signature;

use proc_macro::TokenStream;

use crate::root::Root;

/// Makes an `async fn` whose suspended state can be stored; documented in `leno-frame`.
#[proc_macro_attribute]
pub fn resumable(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Root::Crate, options.into(), item.into()).into()
}

/// The same for users of `leno`, who have no `leno_frame` to name: exported as `leno::frame::resumable`.
#[proc_macro_attribute]
pub fn resumable_of_leno(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Root::Facade, options.into(), item.into()).into()
}
