//! Where the source suspends, and where it must not.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Error, Expr, ExprAssign, ExprAsync, ExprAwait, ExprClosure, Item, Macro};

#[derive(Default)]
struct Awaits {
    found: bool,
    /// Those whose state no frame could hold, and what they are in.
    misplaced: Vec<(Span, &'static str)>,
    inside: Option<&'static str>,
}

impl Awaits {
    fn within(&mut self, what: &'static str, look: impl FnOnce(&mut Self)) {
        let outer = self.inside.replace(what);
        look(self);
        self.inside = outer;
    }
}

impl<'a> Visit<'a> for Awaits {
    fn visit_expr_await(&mut self, e: &'a ExprAwait) {
        match self.inside {
            Some(what) => self.misplaced.push((e.await_token.span(), what)),
            None => self.found = true,
        }
        visit::visit_expr_await(self, e);
    }

    fn visit_expr_closure(&mut self, e: &'a ExprClosure) {
        self.within("a closure", |this| visit::visit_expr_closure(this, e));
    }

    fn visit_expr_async(&mut self, e: &'a ExprAsync) {
        self.within("an `async` block", |this| visit::visit_expr_async(this, e));
    }

    fn visit_item(&mut self, _: &'a Item) {}

    fn visit_macro(&mut self, m: &'a Macro) {
        if let Some(span) = await_in(m.tokens.clone()) {
            self.misplaced.push((span, "the arguments of a macro"));
        }
    }
}

/// The first `.await` among tokens that are not parsed.
fn await_in(tokens: TokenStream) -> Option<Span> {
    let mut after_dot = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if after_dot && name == "await" => return Some(name.span()),
            TokenTree::Group(group) => {
                if let Some(span) = await_in(group.stream()) {
                    return Some(span);
                }
                after_dot = false;
            }
            TokenTree::Punct(punct) => after_dot = punct.as_char() == '.',
            _ => after_dot = false,
        }
    }
    None
}

pub(crate) fn suspends(e: &Expr) -> bool {
    let mut awaits = Awaits::default();
    awaits.visit_expr(e);
    awaits.found
}

pub(crate) fn block_suspends(b: &Block) -> bool {
    let mut awaits = Awaits::default();
    awaits.visit_block(b);
    awaits.found
}

/// Whether control flow is to be taken apart: it suspends, or it assigns variables, so that what is
/// alive differs from path to path.
pub(crate) fn wants_node(e: &Expr) -> bool {
    #[derive(Default)]
    struct Assigns(bool);
    impl<'a> Visit<'a> for Assigns {
        fn visit_expr_assign(&mut self, a: &'a ExprAssign) {
            self.0 |= matches!(&*a.left, Expr::Path(p) if p.path.get_ident().is_some());
        }
        fn visit_expr_closure(&mut self, _: &'a ExprClosure) {}
        fn visit_expr_async(&mut self, _: &'a ExprAsync) {}
        fn visit_item(&mut self, _: &'a Item) {}
    }
    if suspends(e) {
        return true;
    }
    let mut assigns = Assigns::default();
    if matches!(e, Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Loop(_) | Expr::While(_)) {
        assigns.visit_expr(e);
    }
    assigns.0
}

/// An error for each suspension that no frame could hold.
pub(crate) fn misplaced(b: &Block) -> Vec<Error> {
    let mut awaits = Awaits::default();
    awaits.visit_block(b);
    let error = |(span, what)| {
        Error::new(
            span,
            format!(
                "cannot suspend inside {what}: its state is not part of this frame\nhelp: write \
                 `let v = <the call>.await;` before it and use `v` there"
            ),
        )
    };
    awaits.misplaced.into_iter().map(error).collect()
}
