//! `self` and `Self` do not exist in the nested item that holds a method's body: they are renamed.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{ExprPath, Macro, Path, PathArguments, Type, parse_quote};

/// What `self` is called in the body; images call it `self`.
pub(crate) const RECEIVER: &str = "__self";

pub(crate) fn renamed(span: Span) -> Ident {
    Ident::new(RECEIVER, span)
}

/// Replaces `self`, and `Self` by the type it stands for.
pub(crate) struct Rename<'a>(pub &'a Type);

impl Rename<'_> {
    fn tokens(&self, tokens: TokenStream) -> TokenStream {
        let rename = |token: TokenTree| match token {
            TokenTree::Ident(name) if name == "self" => renamed(name.span()).to_token_stream(),
            TokenTree::Ident(name) if name == "Self" => {
                let ty = self.0;
                quote!(<#ty>)
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.tokens(group.stream()));
                inner.set_span(group.span());
                inner.to_token_stream()
            }
            token => token.to_token_stream(),
        };
        tokens.into_iter().map(rename).collect()
    }
}

impl VisitMut for Rename<'_> {
    fn visit_macro_mut(&mut self, m: &mut Macro) {
        m.tokens = self.tokens(m.tokens.clone());
    }

    fn visit_expr_path_mut(&mut self, e: &mut ExprPath) {
        if e.path.is_ident("self") {
            let name = renamed(e.span());
            e.path = parse_quote!(#name);
        }
        visit_mut::visit_expr_path_mut(self, e);
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        if path.segments.first().is_some_and(|first| first.ident == "Self")
            && let Type::Path(ty) = self.0
        {
            let mut full = ty.path.clone();
            if let Some(last) = full.segments.last_mut()
                && let PathArguments::AngleBracketed(arguments) = &mut last.arguments
                && path.segments.len() > 1
            {
                arguments.colon2_token = Some(Default::default());
            }
            full.segments.extend(path.segments.iter().skip(1).cloned());
            *path = full;
        }
        visit_mut::visit_path_mut(self, path);
    }
}
