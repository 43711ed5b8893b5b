//! `break` and `continue` out of control flow whose variables travel in slots: they are put back first.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Item, Label, Lifetime, Stmt, parse_quote};

use super::Lower;
use crate::resumable::ir::Facts;

impl Lower<'_> {
    pub(super) fn opaque_stmt(&self, stmt: &Stmt, facts: &Facts) -> TokenStream {
        if !self.has_slots_to_leave(facts) {
            return quote!(#stmt);
        }
        let mut stmt = stmt.clone();
        Jumps { lower: self, loops: 0, labels: Vec::new() }.visit_stmt_mut(&mut stmt);
        quote!(#stmt)
    }

    pub(super) fn opaque_expr(&self, e: &Expr, facts: &Facts) -> TokenStream {
        if !self.has_slots_to_leave(facts) {
            return quote!(#e);
        }
        let mut e = e.clone();
        Jumps { lower: self, loops: 0, labels: Vec::new() }.visit_expr_mut(&mut e);
        quote!(#e)
    }
}

struct Jumps<'a, 'b> {
    lower: &'a Lower<'b>,
    /// Loops and labels inside the opaque code: jumps to them stay as they are.
    loops: usize,
    labels: Vec<String>,
}

impl Jumps<'_, '_> {
    fn put_back(&self, label: Option<&Lifetime>, is_continue: bool) -> TokenStream {
        let label = label.map(|label| label.ident.to_string());
        let stays = match &label {
            Some(label) => self.labels.contains(label),
            None => self.loops > 0,
        };
        if stays {
            return TokenStream::new();
        }
        let level = self.lower.levels.iter().rev().find(|level| match &label {
            Some(_) => level.label == label,
            None => level.is_loop,
        });
        level.map_or_else(TokenStream::new, |level| {
            let live = if is_continue { &level.on_continue } else { &level.on_break };
            self.lower.put_back(&level.slots, live)
        })
    }

    fn in_loop(&mut self, label: Option<Label>, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        self.in_label(label, visit);
        self.loops -= 1;
    }

    fn in_label(&mut self, label: Option<Label>, visit: impl FnOnce(&mut Self)) {
        let outside = self.labels.len();
        self.labels.extend(label.map(|label| label.name.ident.to_string()));
        visit(self);
        self.labels.truncate(outside);
    }
}

impl VisitMut for Jumps<'_, '_> {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        match e {
            Expr::Closure(_) | Expr::Async(_) => {}
            Expr::Loop(inner) => {
                let label = inner.label.clone();
                self.in_loop(label, |this| visit_mut::visit_expr_loop_mut(this, inner));
            }
            Expr::While(inner) => {
                let label = inner.label.clone();
                self.in_loop(label, |this| visit_mut::visit_expr_while_mut(this, inner));
            }
            Expr::ForLoop(inner) => {
                let label = inner.label.clone();
                self.in_loop(label, |this| visit_mut::visit_expr_for_loop_mut(this, inner));
            }
            Expr::Block(inner) => {
                let label = inner.label.clone();
                self.in_label(label, |this| visit_mut::visit_expr_block_mut(this, inner));
            }
            Expr::Break(jump) => {
                visit_mut::visit_expr_break_mut(self, jump);
                let put_back = self.put_back(jump.label.as_ref(), false);
                if !put_back.is_empty() {
                    let label = &jump.label;
                    *e = match &jump.expr {
                        Some(value) => {
                            parse_quote!({ let __broken = #value; #put_back break #label __broken })
                        }
                        None => parse_quote!({ #put_back break #label }),
                    };
                }
            }
            Expr::Continue(jump) => {
                let put_back = self.put_back(jump.label.as_ref(), true);
                if !put_back.is_empty() {
                    let label = &jump.label;
                    *e = parse_quote!({ #put_back continue #label });
                }
            }
            e => visit_mut::visit_expr_mut(self, e),
        }
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}
}
