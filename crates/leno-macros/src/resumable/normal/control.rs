//! Control flow that suspends, and suspensions themselves.

use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{
    BinOp, Expr, ExprBinary, ExprForLoop, ExprIf, ExprMatch, ExprWhile, Pat, Stmt, parse_quote,
    parse2,
};

use super::Normal;
use crate::resumable::find::{block_suspends, suspends, wants_node};
use crate::resumable::ir::{Branch, Extent, If, Line, Match, Node, Point, Seq};
use crate::resumable::names::{has_let, text};

impl Normal {
    /// An expression that is a whole statement, a whole value or a tail: suspensions and control flow
    /// stay what they are.
    pub(super) fn whole(&mut self, e: Expr, out: &mut Vec<Line>) -> Node {
        if !wants_node(&e) {
            return Node::plain(e);
        }
        match e {
            Expr::Paren(e) => self.whole(*e.expr, out),
            Expr::Group(e) => self.whole(*e.expr, out),
            Expr::Await(e) => {
                let span = e.await_token.span();
                let label = self.next_label.take();
                let operand = self.value(*e.base, out);
                let label = label.unwrap_or_else(|| callee(&operand));
                *self.counts.entry(label.clone()).or_default() += 1;
                Node::Point(Box::new(Point::new(operand, label, span)))
            }
            Expr::If(e) => self.if_else(e, out),
            Expr::Match(e) => self.matching(e, out),
            Expr::Loop(e) => {
                let (label, at) = (e.label.map(|l| l.name), Extent::default());
                Node::Loop { label, body: self.block(e.body), at }
            }
            Expr::While(e) => self.while_loop(e),
            Expr::ForLoop(e) => self.for_loop(e, out),
            Expr::Block(e) => {
                let (label, at) = (e.label.map(|l| l.name), Extent::default());
                Node::Block { label, seq: self.block(e.block), at }
            }
            Expr::Binary(e) if is_lazy(&e) && suspends(&e.right) => {
                let (left, right) = (e.left, e.right);
                let choice = if matches!(e.op, BinOp::And(_)) {
                    parse_quote!(if (#left) { (#right) } else { false })
                } else {
                    parse_quote!(if (#left) { true } else { (#right) })
                };
                self.whole(choice, out)
            }
            e => Node::plain(self.value(e, out)),
        }
    }

    /// What stands after `=>` or `else`.
    fn branch(&mut self, e: Expr) -> Seq {
        match e {
            Expr::Block(e) if e.label.is_none() && e.attrs.is_empty() => self.block(e.block),
            e => {
                let mut seq = Seq::new(Vec::new(), None);
                let tail = self.whole(e, &mut seq.lines);
                seq.tail = Some(Box::new(tail));
                seq
            }
        }
    }

    fn if_else(&mut self, e: ExprIf, out: &mut Vec<Line>) -> Node {
        let cond = self.condition(*e.cond, out);
        let then = self.block(e.then_branch);
        let els = e.else_branch.map(|(_, e)| self.branch(*e));
        let (code, defs, at) = Default::default();
        Node::If(Box::new(If { cond, code, defs, then, els, at }))
    }

    /// A condition, perhaps a chain of `let`s: only what is evaluated first may suspend.
    fn condition(&mut self, e: Expr, out: &mut Vec<Line>) -> Expr {
        if !suspends(&e) {
            return e;
        }
        match e {
            Expr::Let(mut e) => {
                let value = std::mem::replace(&mut *e.expr, parse_quote!(()));
                *e.expr = self.value(value, out);
                Expr::Let(e)
            }
            Expr::Binary(mut e)
                if matches!(e.op, BinOp::And(_)) && (has_let(&e.left) || has_let(&e.right)) =>
            {
                if suspends(&e.right) {
                    self.refuse(
                        e.right.span(),
                        "cannot suspend in the middle of a `let` chain\nhelp: nest the conditions: \
                         `if let .. { if .. }`",
                    );
                    return parse_quote!(false);
                }
                let left = std::mem::replace(&mut *e.left, parse_quote!(()));
                *e.left = self.condition(left, out);
                Expr::Binary(e)
            }
            e => self.value(e, out),
        }
    }

    fn matching(&mut self, e: ExprMatch, out: &mut Vec<Line>) -> Node {
        let scrutinee = self.value(*e.expr, out);
        let mut arms = Vec::new();
        for arm in e.arms {
            let (pat, guard) = match arm.pat {
                Pat::Guard(guarded) => (*guarded.pat, Some(*guarded.guard)),
                pat => (pat, None),
            };
            if let Some(guard) = guard.as_ref().filter(|guard| suspends(guard)) {
                self.refuse(
                    guard.span(),
                    "cannot suspend in a match guard: guards may run any number of times\nhelp: \
                     suspend before the `match` and test the result in the guard",
                );
            }
            let body = self.branch(*arm.body);
            let (defs, guard_code) = Default::default();
            arms.push(Branch { attrs: arm.attrs, pat, defs, guard, guard_code, body });
        }
        let (code, at) = Default::default();
        Node::Match(Box::new(Match { scrutinee, code, arms, at }))
    }

    /// `while c { b }` becomes `loop { if c { b } else { break } }`.
    fn while_loop(&mut self, e: ExprWhile) -> Node {
        let (cond, block) = (e.cond, e.body);
        let mut body = Seq::new(Vec::new(), None);
        let line = match self.whole(parse_quote!(if #cond #block else { break }), &mut body.lines) {
            Node::Plain { expr, .. } => Line::opaque(Stmt::Expr(expr, Some(Default::default()))),
            node => Line::doing(node),
        };
        body.lines.push(line);
        Node::Loop { label: e.label.map(|l| l.name), body, at: Extent::default() }
    }

    /// `for p in it { b }` becomes `{ let mut i = saved(it); loop { match i.next() { None => break,
    /// Some(p) => { b } } } }`.
    fn for_loop(&mut self, e: ExprForLoop, out: &mut Vec<Line>) -> Node {
        let items = self.value(*e.expr, out);
        let (pat, block, label) = (e.pat, e.body, e.label);
        if !block_suspends(&block) {
            return Node::plain(parse_quote!(#label for #pat in #items #block));
        }
        let span = items.span();
        let (name, root) = (self.temporary(span), self.root);
        let start =
            quote_spanned!(span=> let mut #name = #root::walk::IntoSaved::into_saved(#items););
        let start = parse2(start).expect("a let statement");
        let mut body = Seq::new(Vec::new(), None);
        let next = parse_quote!(match ::core::iter::Iterator::next(&mut #name) {
            ::core::option::Option::None => break,
            ::core::option::Option::Some(#pat) => #block
        });
        let next = self.whole(next, &mut body.lines);
        body.lines.push(Line::doing(next));
        let (label, at) = (label.map(|l| l.name), Extent::default());
        let walk = Node::Loop { label, body, at: at.clone() };
        let seq = Seq::new(vec![Line::opaque(start)], Some(walk));
        Node::Block { label: None, seq, at }
    }
}

/// `&&` and `||`.
pub(super) fn is_lazy(e: &ExprBinary) -> bool {
    matches!(e.op, BinOp::And(_) | BinOp::Or(_))
}

/// What a suspension is called that nobody has named.
fn callee(e: &Expr) -> String {
    match e {
        Expr::Call(e) => match &*e.func {
            Expr::Path(path) => {
                path.path.segments.last().map(|s| text(&s.ident)).unwrap_or_default()
            }
            _ => "call".into(),
        },
        Expr::MethodCall(e) => text(&e.method),
        _ => "await".into(),
    }
}
