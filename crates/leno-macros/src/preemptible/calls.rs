//! Functions that call themselves: where they are counted.

use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, Ident, Item, Stmt};

/// Puts `count` before the first statement in which the function `own` calls itself, in the innermost
/// branch that has all those calls. One that does not call itself stays as it is.
pub(super) fn count(block: &mut Block, own: &Ident, count: &Stmt) {
    let calls: Vec<usize> = block
        .stmts
        .iter()
        .map(|statement| calls_in(own, |calls| calls.visit_stmt(statement)))
        .collect();
    let Some(first) = calls.iter().position(|calls| *calls > 0) else { return };
    let all = calls.iter().sum();
    if calls[first] == all {
        let mut branches = Branches { own, all, count, is_done: false };
        branches.visit_stmt_mut(&mut block.stmts[first]);
        if branches.is_done {
            return;
        }
    }
    block.stmts.insert(first, count.clone());
}

fn calls_in(own: &Ident, look: impl FnOnce(&mut Calls<'_>)) -> usize {
    let mut calls = Calls { own, found: 0 };
    look(&mut calls);
    calls.found
}

/// How often a function is called by its own name.
struct Calls<'a> {
    own: &'a Ident,
    found: usize,
}

impl<'a> Visit<'a> for Calls<'_> {
    fn visit_item(&mut self, _nested: &'a Item) {}

    fn visit_expr(&mut self, expression: &'a Expr) {
        let is_own = match expression {
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) => {
                    path.path.segments.last().is_some_and(|last| last.ident == *self.own)
                }
                _ => false,
            },
            Expr::MethodCall(call) => call.method == *self.own,
            _ => false,
        };
        self.found += usize::from(is_own);
        visit::visit_expr(self, expression);
    }
}

/// Looks for the branch of a statement that has all calls. Loops and closures are none: they run more than
/// once.
struct Branches<'a> {
    own: &'a Ident,
    all: usize,
    count: &'a Stmt,
    is_done: bool,
}

impl VisitMut for Branches<'_> {
    fn visit_item_mut(&mut self, _nested: &mut Item) {}

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let runs_apart = matches!(
            expression,
            Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) | Expr::Closure(_) | Expr::Async(_)
        );
        if !self.is_done && !runs_apart {
            visit_mut::visit_expr_mut(self, expression);
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        if !self.is_done && calls_in(self.own, |calls| calls.visit_block(block)) == self.all {
            count(block, self.own, self.count);
            self.is_done = true;
        }
    }
}
