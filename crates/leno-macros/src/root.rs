//! How generated code names the crate it calls.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// Users of `leno` have no `leno_frame` to name, and those of `leno-frame` alone no `leno`.
#[derive(Clone, Copy)]
pub(crate) enum Root {
    Crate,
    Facade,
}

impl ToTokens for Root {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Root::Crate => quote!(::leno_frame),
            Root::Facade => quote!(::leno::frame),
        });
    }
}
