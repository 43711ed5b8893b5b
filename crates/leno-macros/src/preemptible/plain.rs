//! Whether the body of a loop may stand twice in a function.
//!
//! Inside it nothing may be that is one thing: an item, a closure, or a macro, which may make one. It has
//! no loop, or bodies would double with each that is around them; and it is short.

use syn::visit::{self, Visit};
use syn::{Block, Expr, Item, Macro};

/// How many expressions a short body has at most.
const SHORT: usize = 40;

/// See the module.
pub(super) fn is_plain(body: &Block) -> bool {
    let mut plain = Plain { expressions: 0, is_plain: true };
    plain.visit_block(body);
    plain.is_plain && plain.expressions <= SHORT
}

struct Plain {
    expressions: usize,
    is_plain: bool,
}

impl<'a> Visit<'a> for Plain {
    fn visit_item(&mut self, _item: &'a Item) {
        self.is_plain = false;
    }

    fn visit_macro(&mut self, _used: &'a Macro) {
        self.is_plain = false;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.expressions += 1;
        self.is_plain &= !matches!(
            expression,
            Expr::While(_)
                | Expr::Loop(_)
                | Expr::ForLoop(_)
                | Expr::Closure(_)
                | Expr::Async(_)
                | Expr::Const(_)
        );
        visit::visit_expr(self, expression);
    }
}
