//! leno's attributes. Use them through `leno` or the crate of their layer.
//!
//! Each attribute exists twice: for users of its own crate, and, with `_in_leno`, for users of the
//! façade, which have no other name for what the generated code calls. What is said of both is a file in `docs/`,
//! whose examples name `leno` and are tested there: this crate cannot depend on what uses it.
#![forbid(unsafe_code)]

mod layer;
mod preemptible;
mod process;
mod resumable;

use proc_macro::TokenStream;

use self::layer::Layer;

#[cfg_attr(not(doctest), doc = include_str!("../docs/preemptible.md"))]
#[proc_macro_attribute]
pub fn preemptible(arguments: TokenStream, item: TokenStream) -> TokenStream {
    preemptible::expand(Layer::Process, arguments.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/preemptible.md"))]
#[proc_macro_attribute]
pub fn preemptible_in_leno(arguments: TokenStream, item: TokenStream) -> TokenStream {
    preemptible::expand(Layer::ProcessInLeno, arguments.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/resumable.md"))]
#[proc_macro_attribute]
pub fn resumable(options: TokenStream, item: TokenStream) -> TokenStream {
    resumable::expand(Layer::Frame, options.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/resumable.md"))]
#[proc_macro_attribute]
pub fn resumable_in_leno(options: TokenStream, item: TokenStream) -> TokenStream {
    resumable::expand(Layer::FrameInLeno, options.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/process.md"))]
#[proc_macro_attribute]
pub fn process(arguments: TokenStream, item: TokenStream) -> TokenStream {
    process::expand(Layer::Process, arguments.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/process.md"))]
#[proc_macro_attribute]
pub fn process_in_leno(arguments: TokenStream, item: TokenStream) -> TokenStream {
    process::expand(Layer::ProcessInLeno, arguments.into(), item.into()).into()
}
