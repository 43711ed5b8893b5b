//! From source to [`crate::resumable::ir`]: brings every suspension to where it stands alone.
//!
//! Operands that are evaluated before a suspension inside an expression are moved into variables of
//! their own, in the order in which the language evaluates them: they are the expression part of a frame.
//! `statements` and `let`s are here, control flow in `control.rs`, all other expressions in `value.rs`.
//!
//! Deliberately not here: which variables there are, and which of them a suspension needs.

mod control;
mod value;

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use quote::{format_ident, quote};
use syn::{
    Attribute, Block, Error, Expr, ExprMacro, LitStr, Local, LocalInit, MacroDelimiter, Pat, Stmt,
    parse_quote,
};

use crate::layer::Layer;
use crate::resumable::find::{suspends, wants_node};
use crate::resumable::ir::{Binding, Line, Node, Seq, Set};
use crate::resumable::names::{bound, text};

/// What the names of expression values begin with.
pub(crate) const TEMPORARY: &str = "__e";

pub(crate) struct Normal {
    pub errors: Vec<Error>,
    root: Layer,
    temporaries: usize,
    /// How many suspensions of each name there are.
    pub counts: HashMap<String, u32>,
    /// What the next suspension is called, if its `let` says so.
    next_label: Option<String>,
}

impl Normal {
    pub(crate) fn new(root: Layer) -> Self {
        Normal {
            errors: Vec::new(),
            root,
            temporaries: 0,
            counts: HashMap::new(),
            next_label: None,
        }
    }

    fn temporary(&mut self, span: Span) -> Ident {
        self.temporaries += 1;
        format_ident!("{TEMPORARY}{}", self.temporaries, span = span)
    }

    fn refuse(&mut self, span: Span, message: &str) {
        self.errors.push(Error::new(span, message));
    }

    pub(crate) fn block(&mut self, block: Block) -> Seq {
        let mut out = Seq::new(Vec::new(), None);
        let count = block.stmts.len();
        for (i, stmt) in block.stmts.into_iter().enumerate() {
            let last = i + 1 == count;
            match stmt {
                Stmt::Item(_) => out.items.push(stmt),
                Stmt::Local(mut local) => {
                    self.next_label = self.label_of(&mut local.attrs);
                    self.local(local, &mut out.lines);
                }
                Stmt::Macro(m)
                    if last
                        && m.semi_token.is_none()
                        && !matches!(m.mac.delimiter, MacroDelimiter::Brace(_)) =>
                {
                    let e = Expr::Macro(ExprMacro { attrs: m.attrs, mac: m.mac });
                    out.tail = Some(Box::new(Node::plain(e)));
                }
                Stmt::Macro(m) => out.lines.push(Line::opaque(Stmt::Macro(m))),
                Stmt::Expr(mut e, semi) => {
                    if let Expr::Await(e) = &mut e {
                        self.next_label = self.label_of(&mut e.attrs);
                    }
                    let is_tail = last && semi.is_none();
                    if !wants_node(&e) && !is_tail {
                        out.lines.push(Line::opaque(Stmt::Expr(e, semi)));
                        continue;
                    }
                    match self.whole(e, &mut out.lines) {
                        node if is_tail => out.tail = Some(Box::new(node)),
                        Node::Plain { expr, .. } => {
                            let semi = semi.or_else(|| Some(Default::default()));
                            out.lines.push(Line::opaque(Stmt::Expr(expr, semi)));
                        }
                        node => out.lines.push(Line::doing(node)),
                    }
                }
            }
        }
        out
    }

    fn local(&mut self, mut local: Local, out: &mut Vec<Line>) {
        let (pat, ty) = match local.pat.clone() {
            Pat::Type(typed) => (*typed.pat, Some(*typed.ty)),
            pat => (pat, None),
        };
        let Some(init) = &mut local.init else {
            return out.push(Line::opaque(Stmt::Local(local)));
        };
        match &init.diverge {
            Some((_, other)) if suspends(other) => {
                return self.let_else_that_suspends(local.attrs, pat, init.clone(), out);
            }
            Some(_) if suspends(&init.expr) => {
                let e = std::mem::replace(&mut *init.expr, parse_quote!(()));
                *init.expr = self.value(e, out);
                return out.push(Line::opaque(Stmt::Local(local)));
            }
            None if wants_node(&init.expr) => {}
            _ => return out.push(Line::opaque(Stmt::Local(local))),
        }
        if self.next_label.is_none()
            && let Pat::Ident(name) = &pat
            && matches!(&*init.expr, Expr::Await(_))
        {
            self.next_label = Some(text(&name.ident));
        }
        let e = std::mem::replace(&mut *init.expr, parse_quote!(()));
        match self.whole(e, out) {
            Node::Plain { expr, .. } => {
                *init.expr = expr;
                out.push(Line::opaque(Stmt::Local(local)));
            }
            init => out.push(binding(local.attrs, pat, ty, init)),
        }
    }

    /// `let PAT = e else { .. }` becomes `let (a, ..) = match e { PAT => (a, ..), _ => { .. } }`.
    fn let_else_that_suspends(
        &mut self,
        attrs: Vec<Attribute>,
        pat: Pat,
        init: LocalInit,
        out: &mut Vec<Line>,
    ) {
        let (names, pats): (Vec<Ident>, Vec<Pat>) = bound(&pat)
            .into_iter()
            .map(|(name, mutable)| {
                let pat = if mutable { parse_quote!(mut #name) } else { parse_quote!(#name) };
                (name, pat)
            })
            .unzip();
        let (e, other) = (init.expr, init.diverge.map(|(_, other)| other));
        // The value of a `let` may begin with a struct's name and braces, that of a `match` may not.
        let matched = syn::parse2(quote!(match #e { #pat => (#(#names,)*), _ => #other }))
            .unwrap_or_else(|_| parse_quote!(match (#e) { #pat => (#(#names,)*), _ => #other }));
        let node = self.whole(matched, out);
        out.push(binding(attrs, parse_quote!((#(#pats,)*)), None, node));
    }

    /// Takes `#[at("name")]` out of the attributes.
    fn label_of(&mut self, attrs: &mut Vec<Attribute>) -> Option<String> {
        let place = attrs.iter().position(|attr| attr.path().is_ident("at"))?;
        let attr = attrs.remove(place);
        match attr.parse_args::<LitStr>() {
            Ok(label) => Some(label.value()),
            Err(error) => {
                self.refuse(error.span(), "a suspension is named by `#[at(\"name\")]`");
                None
            }
        }
    }
}

fn binding(attrs: Vec<Attribute>, pat: Pat, ty: Option<syn::Type>, init: Node) -> Line {
    let (defs, live_out) = (Vec::new(), Set::new());
    Line::Let(Box::new(Binding { attrs, pat, ty, init, defs, live_out }))
}

/// `let NAME = VALUE;` for a value without a suspension.
fn let_plain(name: &Ident, value: &Expr) -> Line {
    Line::opaque(syn::parse2(quote!(let #name = #value;)).expect("a let statement"))
}
