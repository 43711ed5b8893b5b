//! Which names code binds, uses and changes, and where it jumps to.
//!
//! Arguments of macros are not parsed: every identifier in them counts as used, and so do the names in
//! `{..}` of string literals, because `format!` reads variables from there.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{
    BinOp, Block, Expr, ExprAssign, ExprBinary, ExprBlock, ExprBreak, ExprClosure, ExprContinue,
    ExprForLoop, ExprLet, ExprLoop, ExprMethodCall, ExprPath, ExprReference, ExprWhile, Item,
    Label, Lifetime, Macro, Pat, PatIdent,
};

use crate::resumable::ir::Jump;

/// The name without `r#`: `r#x` and `x` are one name, and neither `format!` nor images know of the former.
pub(crate) fn text(name: &Ident) -> String {
    name.unraw().to_string()
}

/// Identifiers bound by a pattern, with their mutability.
pub(crate) fn bound(p: &Pat) -> Vec<(Ident, bool)> {
    struct Bound(Vec<(Ident, bool)>);
    impl<'a> Visit<'a> for Bound {
        fn visit_pat_ident(&mut self, p: &'a PatIdent) {
            let s = text(&p.ident);
            let is_const = p.by_ref.is_none()
                && p.mutability.is_none()
                && p.subpat.is_none()
                && s.starts_with(char::is_uppercase);
            if !is_const && !self.0.iter().any(|b| text(&b.0) == s) {
                self.0.push((p.ident.clone(), p.mutability.is_some()));
            }
            visit::visit_pat_ident(self, p);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut bound = Bound(Vec::new());
    bound.visit_pat(p);
    bound.0
}
/// Identifiers bound by the `let`s of a condition.
pub(crate) fn cond_bound(c: &Expr) -> Vec<(Ident, bool)> {
    match c {
        Expr::Let(l) => bound(&l.pat),
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => {
            let mut v = cond_bound(&b.left);
            for x in cond_bound(&b.right) {
                v.retain(|y: &(Ident, bool)| text(&y.0) != text(&x.0));
                v.push(x);
            }
            v
        }
        Expr::Paren(p) => cond_bound(&p.expr),
        _ => vec![],
    }
}

/// Whether a condition has a `let`.
pub(crate) fn has_let(e: &Expr) -> bool {
    struct Lets(bool);
    impl<'a> Visit<'a> for Lets {
        fn visit_expr_let(&mut self, _: &'a ExprLet) {
            self.0 = true;
        }
        fn visit_expr_closure(&mut self, _: &'a ExprClosure) {}
        fn visit_block(&mut self, _: &'a Block) {}
    }
    let mut lets = Lets(false);
    lets.visit_expr(e);
    lets.0
}

/// Whether the expression may give the variable another value.
pub(crate) fn changes(e: &Expr, variable: &Ident) -> bool {
    struct Changes<'v>(&'v Ident, bool);
    impl Changes<'_> {
        fn look(&mut self, e: &Expr) {
            self.1 |= matches!(e, Expr::Path(path) if path.path.get_ident().is_some_and(|name| {
                text(name) == text(self.0)
            }));
        }
    }
    impl<'a> Visit<'a> for Changes<'_> {
        fn visit_expr_assign(&mut self, e: &'a ExprAssign) {
            self.look(&e.left);
            visit::visit_expr_assign(self, e);
        }
        fn visit_expr_binary(&mut self, e: &'a ExprBinary) {
            self.look(&e.left);
            visit::visit_expr_binary(self, e);
        }
        fn visit_expr_reference(&mut self, e: &'a ExprReference) {
            self.look(&e.expr);
            visit::visit_expr_reference(self, e);
        }
        fn visit_expr_method_call(&mut self, e: &'a ExprMethodCall) {
            self.look(&e.receiver);
            visit::visit_expr_method_call(self, e);
        }
        fn visit_macro(&mut self, _: &'a Macro) {
            self.1 = true;
        }
    }
    let mut changes = Changes(variable, false);
    changes.visit_expr(e);
    changes.1
}

/// The variables that code without a suspension names, and how it leaves.
#[derive(Default)]
pub(crate) struct Scan {
    pub names: Vec<String>,
    /// Those that stand in the source itself, as values and not as what is called.
    pub paths: Vec<(String, Span)>,
    pub jumps: Vec<Jump>,
    loops: usize,
    labels: Vec<String>,
    closures: usize,
}
impl<'a> Visit<'a> for Scan {
    fn visit_expr_path(&mut self, e: &'a ExprPath) {
        if e.qself.is_none() && e.path.leading_colon.is_none() && e.path.segments.len() == 1 {
            let name = &e.path.segments[0].ident;
            self.names.push(text(name));
            self.paths.push((text(name), name.span()));
        }
        visit::visit_expr_path(self, e);
    }
    fn visit_item(&mut self, _: &'a Item) {}
    fn visit_expr_closure(&mut self, c: &'a ExprClosure) {
        let mut inner = Scan { closures: 1, ..Scan::default() };
        inner.visit_expr(&c.body);
        let params: Vec<String> = c.inputs.iter().flat_map(bound).map(|b| text(&b.0)).collect();
        self.names.extend(inner.names.into_iter().filter(|n| !params.contains(n)));
    }
    fn visit_expr_loop(&mut self, e: &'a ExprLoop) {
        self.in_loop(e.label.as_ref(), |s| visit::visit_expr_loop(s, e));
    }
    fn visit_expr_while(&mut self, e: &'a ExprWhile) {
        self.in_loop(e.label.as_ref(), |s| visit::visit_expr_while(s, e));
    }
    fn visit_expr_for_loop(&mut self, e: &'a ExprForLoop) {
        self.in_loop(e.label.as_ref(), |s| visit::visit_expr_for_loop(s, e));
    }
    fn visit_expr_block(&mut self, e: &'a ExprBlock) {
        if let Some(l) = &e.label {
            self.labels.push(l.name.ident.to_string());
        }
        visit::visit_expr_block(self, e);
        if e.label.is_some() {
            self.labels.pop();
        }
    }
    fn visit_expr_break(&mut self, e: &'a ExprBreak) {
        self.jump(e.label.as_ref(), false);
        visit::visit_expr_break(self, e);
    }
    fn visit_expr_continue(&mut self, e: &'a ExprContinue) {
        self.jump(e.label.as_ref(), true);
    }
    fn visit_macro(&mut self, m: &'a Macro) {
        scan_tokens(m.tokens.clone(), &mut self.names);
    }
}
impl Scan {
    fn in_loop(&mut self, l: Option<&Label>, f: impl FnOnce(&mut Self)) {
        self.loops += 1;
        if let Some(l) = l {
            self.labels.push(l.name.ident.to_string());
        }
        f(self);
        if l.is_some() {
            self.labels.pop();
        }
        self.loops -= 1;
    }
    fn jump(&mut self, l: Option<&Lifetime>, is_continue: bool) {
        let label = l.map(|l| l.ident.to_string());
        let inner = match &label {
            Some(l) => self.labels.contains(l),
            None => self.loops > 0,
        };
        if !inner && self.closures == 0 {
            self.jumps.push(Jump { label, is_continue });
        }
    }
}
/// The variable that a macro declares, if it looks as if it did: the first name that it is given, as in
/// `declare!(x)` and `declare!(mut x = 1)`.
pub(crate) fn perhaps_declared(tokens: TokenStream) -> Option<String> {
    let mut tokens = tokens.into_iter().peekable();
    let mut first = tokens.next()?;
    if matches!(&first, TokenTree::Ident(word) if word == "mut") {
        first = tokens.next()?;
    }
    let TokenTree::Ident(name) = first else { return None };
    let name = text(&name);
    let is_part = match tokens.peek() {
        Some(TokenTree::Punct(next)) => matches!(next.as_char(), '.' | ':' | '!'),
        Some(TokenTree::Group(_)) => true,
        _ => false,
    };
    (!is_part && name.starts_with(|first: char| first.is_lowercase() || first == '_'))
        .then_some(name)
}

/// Macro arguments are opaque: identifiers not after `.`, plus `{name}` captures of format strings.
fn scan_tokens(ts: TokenStream, names: &mut Vec<String>) {
    let mut prev_dot = false;
    for t in ts {
        match t {
            TokenTree::Ident(i) => {
                if !prev_dot {
                    names.push(text(&i));
                }
                prev_dot = false;
            }
            TokenTree::Group(g) => {
                scan_tokens(g.stream(), names);
                prev_dot = false;
            }
            TokenTree::Punct(p) => prev_dot = p.as_char() == '.' && !prev_dot,
            TokenTree::Literal(l) => {
                let s = l.to_string();
                if s.ends_with('"') || s.ends_with('#') {
                    let mut rest = s.as_str();
                    while let Some(i) = rest.find('{') {
                        rest = &rest[i + 1..];
                        let n: String =
                            rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                        if !n.is_empty() {
                            names.push(n);
                        }
                    }
                }
                prev_dot = false;
            }
        }
    }
}
