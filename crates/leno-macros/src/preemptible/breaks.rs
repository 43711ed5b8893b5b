//! Whether a loop may be left by a `break`.
//!
//! A `break` inside a macro is one of the loop that the macro is used in. What a macro of a user expands to
//! is not seen, so any may have one; those of the standard library have none but what they are given.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, ExprForLoop, Item, Lifetime, Macro};

/// Macros that break out of nothing by themselves.
const HARMLESS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "matches",
    "panic",
    "print",
    "println",
    "safepoint",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Whether something in the loop's body may break out of it.
pub(super) fn may_break(looping: &ExprForLoop) -> bool {
    let label = looping.label.as_ref().map(|label| &label.name);
    let mut breaks = Breaks { label, inner: 0, found: false };
    breaks.visit_block(&looping.body);
    breaks.found
}

struct Breaks<'a> {
    label: Option<&'a Lifetime>,
    /// How many loops there are around, below the one that is asked about.
    inner: usize,
    found: bool,
}

impl<'a> Visit<'a> for Breaks<'_> {
    fn visit_item(&mut self, _nested: &'a Item) {}

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Closure(_) | Expr::Async(_) => return,
            Expr::Break(leaving) => {
                self.found |= match &leaving.label {
                    Some(label) => Some(label) == self.label,
                    None => self.inner == 0,
                };
            }
            Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) => {
                self.inner += 1;
                visit::visit_expr(self, expression);
                self.inner -= 1;
                return;
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_macro(&mut self, used: &'a Macro) {
        let name = used.path.segments.last().map(|last| last.ident.to_string());
        let is_harmless = name.is_some_and(|name| HARMLESS.contains(&name.as_str()));
        self.found |= !is_harmless || has_break(used.tokens.clone());
    }
}

/// Whether the word is anywhere in there.
fn has_break(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "break",
        TokenTree::Group(group) => has_break(group.stream()),
        _ => false,
    })
}
