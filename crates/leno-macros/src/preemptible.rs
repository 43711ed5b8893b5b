//! `#[preemptible]`: counts the laps of loops, and the entries of functions that call themselves.
//!
//! A loop, and all loops inside it, count their laps in one local (`Laps`), which looks at the budget
//! when so many have come together. It is gone with the outermost loop, so that a call at the end of a
//! function stays the last thing that this does. A `for` loop is cut into strips, so that the loop over a strip has
//! nothing in it but the user's code and can be vectorised as before:
//!
//! ```text
//!   for PATTERN in EXPRESSION { BODY }
//!
//!   let mut strips = Strips::new(EXPRESSION);
//!   loop {
//!       let mut strip = strips.next_strip(laps.room());
//!       for PATTERN in &mut strip { BODY }                // with the loop's label
//!       laps.add(strip.laps());
//!       if strips.is_over { break }
//!   }
//! ```
//!
//! The inner loop is the user's: whatever leaves or continues it does what it did. Only a `break` out of
//! it must end the outer loop as well. If BODY may have one, also inside a macro, the inner loop
//! takes its items one by one, and a `break` is recognised by what it leaves undone:
//!
//! ```text
//!       let mut is_whole = false;
//!       loop {
//!           let PATTERN = match strip.next() { Some(item) => item, None => { is_whole = true; break } };
//!           BODY
//!       }
//! ```
//!
//! If BODY is short and plain, it is there twice: before that there is the user's own loop, for when all of it
//! fits into what may be counted at once. A compiler that knows how many laps there are keeps knowing it.
//!
//! ```text
//!   let all = strips.laps_in_all();
//!   if all <= laps.room() {
//!       for PATTERN in strips.items { BODY }
//!       laps.add(all);
//!   } else {
//!       loop { .. }                                       // as above
//!   }
//! ```
//!
//! A function that calls itself counts a unit at its entry, whether this activation calls it again or not.
//!
//! Not seen, and hence not counted: loops inside iterator adaptors, macros and other functions; nor
//! are `async` blocks and nested items looked at.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ImplItem, Item, LitInt, Signature, parse_quote};

use crate::layer::Layer;

mod breaks;
mod calls;
mod plain;

/// How many laps are counted before the budget is looked at, at most. A budget of time asks for fewer when
/// laps take long.
const STRIP: u32 = 8192;

pub(crate) fn expand(layer: Layer, arguments: TokenStream, item: TokenStream) -> TokenStream {
    match try_expand(layer, arguments, item) {
        Ok(tokens) => tokens,
        Err(error) => error.to_compile_error(),
    }
}

fn try_expand(layer: Layer, arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let strip = strip_of(arguments)?;
    match syn::parse2::<Item>(item)? {
        Item::Fn(mut function) => {
            instrument(layer, strip, &function.sig, &mut function.block)?;
            Ok(quote!(#function))
        }
        Item::Impl(mut methods) => {
            for item in &mut methods.items {
                if let ImplItem::Fn(method) = item
                    && method.sig.asyncness.is_none()
                    && method.sig.constness.is_none()
                {
                    instrument(layer, strip, &method.sig, &mut method.block)?;
                }
            }
            Ok(quote!(#methods))
        }
        other => Err(syn::Error::new_spanned(
            other,
            "#[preemptible] is for functions and impl blocks: it puts safepoints into loops",
        )),
    }
}

/// `strip = N`.
fn strip_of(arguments: TokenStream) -> syn::Result<u32> {
    let mut strip = STRIP;
    let parser = syn::meta::parser(|meta| {
        if !meta.path.is_ident("strip") {
            return Err(meta.error("#[preemptible] knows `strip = N` only"));
        }
        let value: LitInt = meta.value()?.parse()?;
        strip = value.base10_parse()?;
        if strip == 0 {
            return Err(syn::Error::new_spanned(value, "a strip has at least one lap"));
        }
        Ok(())
    });
    syn::parse::Parser::parse2(parser, arguments)?;
    Ok(strip)
}

/// Puts safepoints into one function.
fn instrument(layer: Layer, strip: u32, of: &Signature, block: &mut Block) -> syn::Result<()> {
    let refused = match (&of.asyncness, &of.constness) {
        (Some(token), _) => Some((
            token.span,
            "#[preemptible]: an async function is a future, which is not preempted; it yields at \
             its `await`s",
        )),
        (_, Some(token)) => {
            Some((token.span, "#[preemptible]: a const function cannot count its laps"))
        }
        _ => None,
    };
    if let Some((span, why)) = refused {
        return Err(syn::Error::new(span, why));
    }
    let calls_itself = calls::has_own(block, &of.ident);
    Loops { layer, strip, depth: 0 }.visit_block_mut(block);
    if calls_itself {
        block.stmts.insert(0, parse_quote!(#layer::laps::enter::<#strip>();));
    }
    Ok(())
}

/// Puts the counting into the loops of a function.
struct Loops {
    layer: Layer,
    strip: u32,
    /// How many loops there are around, in the same function or closure.
    depth: usize,
}

impl Loops {
    /// What a loop's body begins with.
    fn count(&mut self, body: &mut Block) {
        self.visit_block_mut(body);
        let (statements, name) = (&body.stmts, laps());
        *body = parse_quote!({ #name.lap(); #(#statements)* });
    }

    /// A loop. What a `for` runs over is looked at before it begins, and is not inside.
    fn enter(&mut self, looping: &mut Expr) {
        if let Expr::ForLoop(inner) = looping {
            self.visit_expr_mut(&mut inner.expr);
        }
        self.depth += 1;
        match looping {
            Expr::While(inner) => {
                self.visit_expr_mut(&mut inner.cond);
                self.count(&mut inner.body);
            }
            Expr::Loop(inner) => self.count(&mut inner.body),
            Expr::ForLoop(inner) => {
                let (may_break, is_plain) =
                    (breaks::may_break(inner), plain::is_plain(&inner.body));
                self.visit_block_mut(&mut inner.body);
                *looping = in_strips(self.layer, inner, may_break, is_plain);
            }
            _ => {}
        }
        self.depth -= 1;
        if self.depth == 0 {
            let (layer, strip, name) = (self.layer, self.strip, laps());
            *looping = parse_quote!({
                let mut #name = #layer::laps::Laps::new(#strip);
                #looping
            });
        }
    }
}

/// The local that counts. No user can name it.
fn laps() -> Ident {
    Ident::new("laps", Span::mixed_site())
}

impl VisitMut for Loops {
    fn visit_item_mut(&mut self, _nested: &mut Item) {}

    fn visit_expr_async_mut(&mut self, _future: &mut syn::ExprAsync) {}

    /// A closure may outlive the function, or run on another thread: it counts for itself.
    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        if closure.asyncness.is_none() {
            let depth = core::mem::take(&mut self.depth);
            self.visit_expr_mut(&mut closure.body);
            self.depth = depth;
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        match expression {
            Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) => self.enter(expression),
            _ => visit_mut::visit_expr_mut(self, expression),
        }
    }
}

/// See the module.
fn in_strips(layer: Layer, looping: &syn::ExprForLoop, may_break: bool, is_plain: bool) -> Expr {
    let syn::ExprForLoop { attrs, label, pat, expr, body, .. } = looping;
    let own = |name: &str| format_ident!("{name}", span = Span::mixed_site());
    let (laps, strips, strip, is_whole) = (laps(), own("strips"), own("strip"), own("is_whole"));
    let (item, all) = (own("item"), own("all"));
    let statements = &body.stmts;
    let (inner, leave) = if may_break {
        let inner = quote! {
            let mut #is_whole = false;
            #label loop {
                let #pat = match ::core::iter::Iterator::next(&mut #strip) {
                    ::core::option::Option::Some(#item) => #item,
                    ::core::option::Option::None => {
                        #is_whole = true;
                        break;
                    }
                };
                #(#statements)*
            }
        };
        (inner, quote!(!#is_whole || #strips.is_over))
    } else {
        (quote!(#label for #pat in &mut #strip { #(#statements)* }), quote!(#strips.is_over))
    };
    let whole = (is_plain && !may_break).then(|| {
        quote! {
            let #all = (&mut &mut &mut #strips).laps_in_all();
            if #all <= #laps.room() {
                #label for #pat in #strips.items { #(#statements)* }
                #laps.add(#all);
            } else
        }
    });
    let looping: Expr = parse_quote!({
        #(#attrs)*
        loop {
            // The references live as long as the strip, which a `let` would not let them.
            match (&mut &mut &mut #strips).next_strip(#laps.room()) {
                mut #strip => {
                    #inner
                    #laps.add(#strip.laps());
                    if #leave {
                        break;
                    }
                }
            }
        }
    });
    parse_quote!({
        use #layer::laps::{AnyStrip as _, RangeStrip as _, SliceStrip as _, Strip as _};
        let mut #strips = #layer::laps::Strips::new(::core::iter::IntoIterator::into_iter(#expr));
        #whole #looping
    })
}
