//! How generated code names the crate it calls.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// Users of `leno` have no `leno_process` or `leno_frame` to name, and those of one alone no `leno`.
#[derive(Clone, Copy)]
pub(crate) enum Layer {
    Process,
    ProcessInLeno,
    Frame,
    FrameInLeno,
}

impl ToTokens for Layer {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Layer::Process => quote!(::leno_process),
            Layer::ProcessInLeno => quote!(::leno::process),
            Layer::Frame => quote!(::leno_frame),
            Layer::FrameInLeno => quote!(::leno::frame),
        });
    }
}
