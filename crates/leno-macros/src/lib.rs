//! leno's attributes. Use them through `leno` or the crate of their layer, where they are documented.
//!
//! Each attribute exists twice: for users of its own crate, and, with `_in_leno`, for users of the
//! façade, which have no other name for what the generated code calls.
#![forbid(unsafe_code)]

mod layer;
mod preemptible;
mod process;
mod resumable;

use proc_macro::TokenStream;

use self::layer::Layer;

/// Puts safepoints into a function, or into all functions of an `impl` block.
#[proc_macro_attribute]
pub fn preemptible(arguments: TokenStream, item: TokenStream) -> TokenStream {
    preemptible::expand(Layer::Process, arguments.into(), item.into()).into()
}

/// The same for users of `leno`.
#[proc_macro_attribute]
pub fn preemptible_in_leno(arguments: TokenStream, item: TokenStream) -> TokenStream {
    preemptible::expand(Layer::ProcessInLeno, arguments.into(), item.into()).into()
}

/// Makes an async function whose suspended state can be stored.
#[proc_macro_attribute]
pub fn resumable(options: TokenStream, item: TokenStream) -> TokenStream {
    resumable::expand(Layer::Frame, options.into(), item.into()).into()
}

/// The same for users of `leno`.
#[proc_macro_attribute]
pub fn resumable_in_leno(options: TokenStream, item: TokenStream) -> TokenStream {
    resumable::expand(Layer::FrameInLeno, options.into(), item.into()).into()
}

/// Makes a process of an `impl` block with entries.
#[proc_macro_attribute]
pub fn process(arguments: TokenStream, item: TokenStream) -> TokenStream {
    process::expand(Layer::Process, arguments.into(), item.into()).into()
}

/// The same for users of `leno`.
#[proc_macro_attribute]
pub fn process_in_leno(arguments: TokenStream, item: TokenStream) -> TokenStream {
    process::expand(Layer::ProcessInLeno, arguments.into(), item.into()).into()
}
