//! Functions that call themselves.

use syn::visit::{self, Visit};
use syn::{Block, Expr, Ident, Item};

/// Whether the function `own` calls itself by its name, as a function or as a method.
pub(super) fn has_own(block: &Block, own: &Ident) -> bool {
    let mut calls = Calls { own, found: false };
    calls.visit_block(block);
    calls.found
}

struct Calls<'a> {
    own: &'a Ident,
    found: bool,
}

impl<'a> Visit<'a> for Calls<'_> {
    fn visit_item(&mut self, _nested: &'a Item) {}

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.found |= match expression {
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) => {
                    path.path.segments.last().is_some_and(|last| last.ident == *self.own)
                }
                _ => false,
            },
            Expr::MethodCall(call) => call.method == *self.own,
            _ => false,
        };
        visit::visit_expr(self, expression);
    }
}
