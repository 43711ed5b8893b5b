//! Suspensions inside expressions: what is evaluated before them moves into variables.

use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, ExprIndex, ExprMethodCall, ExprStruct, parse_quote};

use super::control::is_lazy;
use super::{Normal, binding, let_plain};
use crate::resumable::find::suspends;
use crate::resumable::ir::{Line, Node};
use crate::resumable::names::changes;

impl Normal {
    /// The same expression without suspensions; what has to happen before goes to `out`.
    pub(super) fn value(&mut self, e: Expr, out: &mut Vec<Line>) -> Expr {
        if !suspends(&e) {
            return e;
        }
        match e {
            Expr::Paren(mut e) => {
                *e.expr = self.value(*e.expr, out);
                Expr::Paren(e)
            }
            Expr::Group(mut e) => {
                *e.expr = self.value(*e.expr, out);
                Expr::Group(e)
            }
            Expr::Unary(mut e) => {
                *e.expr = self.value(*e.expr, out);
                Expr::Unary(e)
            }
            Expr::Reference(mut e) => {
                *e.expr = self.value(*e.expr, out);
                Expr::Reference(e)
            }
            Expr::Cast(mut e) => {
                *e.expr = self.value(*e.expr, out);
                Expr::Cast(e)
            }
            Expr::Field(mut e) => {
                *e.base = self.value(*e.base, out);
                Expr::Field(e)
            }
            Expr::Try(mut e) => {
                *e.expr = self.value(*e.expr, out);
                Expr::Try(e)
            }
            Expr::Return(mut e) => {
                e.expr = e.expr.map(|e| Box::new(self.value(*e, out)));
                Expr::Return(e)
            }
            Expr::Break(mut e) => {
                e.expr = e.expr.map(|e| Box::new(self.value(*e, out)));
                Expr::Break(e)
            }
            Expr::Assign(mut e) => {
                if suspends(&e.left) {
                    self.refuse(
                        e.left.span(),
                        "cannot suspend on the left of `=`\nhelp: bind it with `let` first",
                    );
                }
                *e.right = self.value(*e.right, out);
                Expr::Assign(e)
            }
            Expr::Binary(e) => self.binary(e, out),
            Expr::Call(mut e) => {
                *e.func = self.value(*e.func, out);
                e.args = self.operands(e.args, out);
                Expr::Call(e)
            }
            Expr::MethodCall(e) => self.method_call(e, out),
            Expr::Tuple(mut e) => {
                let single = e.elems.len() == 1;
                e.elems = self.operands(e.elems, out);
                if single {
                    e.elems.push_punct(Default::default());
                }
                Expr::Tuple(e)
            }
            Expr::Array(mut e) => {
                e.elems = self.operands(e.elems, out);
                Expr::Array(e)
            }
            Expr::Index(e) => self.index(e, out),
            Expr::Range(mut e) => {
                let had_start = e.start.is_some();
                let ends = e.start.take().into_iter().chain(e.end.take()).map(|e| *e);
                let mut ends: std::collections::VecDeque<Expr> = self.operands(ends, out);
                e.start = if had_start { ends.pop_front().map(Box::new) } else { None };
                e.end = ends.pop_front().map(Box::new);
                Expr::Range(e)
            }
            Expr::Struct(e) => self.structure(e, out),
            Expr::Await(_)
            | Expr::If(_)
            | Expr::Match(_)
            | Expr::Loop(_)
            | Expr::While(_)
            | Expr::ForLoop(_)
            | Expr::Block(_) => self.spill_node(e, out),
            Expr::Unsafe(e) => {
                self.refuse(
                    e.unsafe_token.span(),
                    "cannot suspend inside an `unsafe` block\nhelp: end the block before the \
                     suspension",
                );
                parse_quote!(())
            }
            e => {
                self.refuse(
                    e.span(),
                    "a suspension is not supported in this kind of expression\nhelp: bind it first: \
                     `let v = <the call>.await;`",
                );
                parse_quote!(())
            }
        }
    }

    fn binary(&mut self, mut e: ExprBinary, out: &mut Vec<Line>) -> Expr {
        if is_lazy(&e) && suspends(&e.right) {
            return self.spill_node(Expr::Binary(e), out);
        }
        if assigns(&e.op) {
            if suspends(&e.left) {
                self.refuse(
                    e.left.span(),
                    "cannot suspend on the left of a compound assignment\nhelp: bind it with `let` \
                     first",
                );
                return parse_quote!(());
            }
            *e.right = self.value(*e.right, out);
            return Expr::Binary(e);
        }
        let [left, right] = [*e.left, *e.right];
        let mut operands: std::collections::VecDeque<Expr> = self.operands([left, right], out);
        e.left = Box::new(operands.pop_front().expect("two operands"));
        e.right = Box::new(operands.pop_front().expect("two operands"));
        Expr::Binary(e)
    }

    fn method_call(&mut self, mut e: ExprMethodCall, out: &mut Vec<Line>) -> Expr {
        *e.receiver = self.value(*e.receiver, out);
        if e.args.iter().any(suspends) && !is_place(&e.receiver) {
            *e.receiver = self.spill(*e.receiver, out);
        }
        e.args = self.operands(e.args, out);
        Expr::MethodCall(e)
    }

    fn index(&mut self, mut e: ExprIndex, out: &mut Vec<Line>) -> Expr {
        if suspends(&e.expr) {
            *e.expr = self.value(*e.expr, out);
        } else if !is_place(&e.expr) {
            *e.expr = self.spill(*e.expr, out);
        }
        *e.index = self.value(*e.index, out);
        Expr::Index(e)
    }

    fn structure(&mut self, mut e: ExprStruct, out: &mut Vec<Line>) -> Expr {
        if let Some(rest) = e.rest.as_mut().filter(|rest| suspends(rest)) {
            self.refuse(
                rest.span(),
                "cannot suspend in the base of a struct\nhelp: bind it with `let` first",
            );
        }
        let values: Vec<Expr> = e.fields.iter().map(|field| field.expr.clone()).collect();
        let values: Vec<Expr> = self.operands(values, out);
        for (field, value) in e.fields.iter_mut().zip(values) {
            if field.colon_token.is_none() && !matches!(&value, Expr::Path(_)) {
                field.colon_token = Some(Default::default());
            }
            field.expr = value;
        }
        Expr::Struct(e)
    }

    /// Operands are evaluated from left to right; those before the last suspension become variables.
    fn operands<B: FromIterator<Expr>>(
        &mut self,
        operands: impl IntoIterator<Item = Expr>,
        out: &mut Vec<Line>,
    ) -> B {
        let mut operands: Vec<Expr> = operands.into_iter().collect();
        if let Some(last) = operands.iter().rposition(suspends) {
            let later = operands[..=last].to_vec();
            for (i, operand) in operands.iter_mut().enumerate().take(last + 1) {
                let e = std::mem::replace(operand, parse_quote!(()));
                let e = self.value(e, out);
                let changed = |name| later[i + 1..].iter().any(|e| changes(e, name));
                let read_now =
                    matches!(&e, Expr::Path(path) if path.path.get_ident().is_some_and(changed));
                *operand = match i < last {
                    true if read_now => self.spill_always(&e, out),
                    true => self.spill(e, out),
                    false => e,
                };
            }
        }
        operands.into_iter().collect()
    }

    fn spill_node(&mut self, e: Expr, out: &mut Vec<Line>) -> Expr {
        let span = e.span();
        let node = self.whole(e, out);
        let name = self.temporary(span);
        out.push(match node {
            Node::Plain { expr, .. } => let_plain(&name, &expr),
            node => binding(Vec::new(), parse_quote!(#name), None, node),
        });
        parse_quote!(#name)
    }

    fn spill(&mut self, e: Expr, out: &mut Vec<Line>) -> Expr {
        if is_pure(&e) { e } else { self.spill_always(&e, out) }
    }

    fn spill_always(&mut self, e: &Expr, out: &mut Vec<Line>) -> Expr {
        let name = self.temporary(e.span());
        out.push(let_plain(&name, e));
        parse_quote!(#name)
    }
}

fn assigns(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

fn is_place(e: &Expr) -> bool {
    match e {
        Expr::Path(_) => true,
        Expr::Field(e) => is_place(&e.base),
        Expr::Paren(e) => is_place(&e.expr),
        Expr::Group(e) => is_place(&e.expr),
        _ => false,
    }
}

/// Whether it does not matter when the expression is evaluated, as long as nobody assigns meanwhile.
fn is_pure(e: &Expr) -> bool {
    match e {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Reference(e) => is_place(&e.expr),
        Expr::Tuple(e) => e.elems.is_empty(),
        Expr::Paren(e) => is_pure(&e.expr),
        Expr::Group(e) => is_pure(&e.expr),
        _ => false,
    }
}
