//! Control flow that suspends.
//!
//! A branch is first selected, by the condition or by the frame, and then run. Branches without
//! suspensions run while the condition's borrows are still there, as in the source.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{Level, Lower, Place, Slots, within};
use crate::resumable::ir::{Branch, Facts, If, Match, Node, Set};
use crate::resumable::live::Inside;

impl Lower<'_> {
    pub(super) fn control(&mut self, node: &Node, slots: &Slots) -> TokenStream {
        for (id, slot) in slots {
            self.places.insert(*id, slot.clone().map_or(Place::Gone, Place::Slot));
        }
        match node {
            Node::If(node) => self.if_else(node, slots),
            Node::Match(node) => self.matching(node, slots),
            Node::Loop { label, body, at } => {
                self.levels.push(Level {
                    label: label.as_ref().map(|label| label.ident.to_string()),
                    is_loop: true,
                    slots: slots.clone(),
                    on_break: at.live_out.clone(),
                    on_continue: at.head.clone(),
                });
                let body = self.inner(body, TokenStream::new(), Vec::new(), slots, &Set::new());
                self.levels.pop();
                let label = label.as_ref().map(|label| quote!(#label:));
                quote!(#label loop { #body })
            }
            Node::Block { label, seq, at } => {
                if let Some(label) = label {
                    self.levels.push(Level {
                        label: Some(label.ident.to_string()),
                        is_loop: false,
                        slots: slots.clone(),
                        on_break: at.live_out.clone(),
                        on_continue: Set::new(),
                    });
                }
                let body = self.inner(seq, TokenStream::new(), Vec::new(), slots, &Set::new());
                if label.is_some() {
                    self.levels.pop();
                }
                let label = label.as_ref().map(|label| quote!(#label:));
                quote!(#label { #body })
            }
            Node::Plain { .. } | Node::Point(_) => unreachable!("not control flow"),
        }
    }

    fn if_else(&mut self, node: &If, slots: &Slots) -> TokenStream {
        let If { cond, code, defs, then, els, at } = node;
        let mut after = then.live_in.clone();
        after.extend(els.as_ref().map_or(&at.live_out, |els| &els.live_in));
        let nothing = Set::new();
        let (in_then, in_else) = (then.range(), els.as_ref().and_then(|els| els.range()));
        let otherwise = |this: &mut Self| {
            let els = els.as_ref()?;
            Some(this.inner(els, TokenStream::new(), Vec::new(), slots, &nothing))
        };
        if in_then.is_none() && in_else.is_none() {
            let then = self.inner(then, TokenStream::new(), defs.clone(), slots, &nothing);
            let els = otherwise(self).map(|els| quote!(else { #els }));
            return quote!(if #cond { #then } #els);
        }
        if let (None, Some(in_else), false) = (in_then, in_else, defs.is_empty()) {
            return self.if_let_else(node, slots, in_else);
        }
        let chosen = self.fresh("chosen");
        let here = in_then.map_or(quote!(false), within);
        let not_here = in_else.map(within).map(|here| quote!(else if #here { false }));
        let (bindings, test, entry) = if defs.is_empty() {
            (None, quote!(#cond), TokenStream::new())
        } else {
            let bound = self.fresh("bound");
            let names = defs.iter().map(|id| self.name(*id));
            let pats = defs.iter().map(|id| self.pat(*id));
            let test = quote!(if #cond {
                #bound = ::core::option::Option::Some((#(#names,)*));
                true
            } else {
                false
            });
            let entry = quote!(let (#(#pats,)*) = #bound.unwrap(););
            (Some(quote!(let mut #bound = ::core::option::Option::None;)), test, entry)
        };
        let test = self.header(test, code, slots, &after);
        let then = self.inner(then, entry, defs.clone(), slots, &nothing);
        let els = otherwise(self).map(|els| quote!(else { #els }));
        quote!({
            #bindings
            let #chosen = if #here { true } #not_here else { #test };
            if #chosen { #then } #els
        })
    }

    /// `if let` whose first branch does not suspend: it runs while the borrows of the condition last.
    fn if_let_else(&mut self, node: &If, slots: &Slots, in_else: (u32, u32)) -> TokenStream {
        let If { cond, code, defs, then, els, at } = node;
        let root = self.root;
        let mut inside = Inside { mentions: code.mentions.clone(), ..Inside::default() };
        inside.seq(then);
        let (natural, open) = self.open(slots, &(&inside.mentions & &at.live_in));
        let then = self.inner(then, TokenStream::new(), defs.clone(), slots, &natural);
        let live = els.as_ref().map_or(&at.live_out, |els| &els.live_in);
        let close = self.close(slots, &natural, live);
        let els = els
            .as_ref()
            .map(|els| self.inner(els, TokenStream::new(), Vec::new(), slots, &Set::new()));
        let here = within(in_else);
        quote!(match if #here { #root::internal::Chosen::Arm(1) } else {
            #open
            if #cond {
                #root::internal::Chosen::Done({ #then })
            } else {
                #close
                #root::internal::Chosen::Arm(1)
            }
        } {
            #root::internal::Chosen::Done(__done) => __done,
            #root::internal::Chosen::Arm(_) => { #els }
        })
    }

    fn matching(&mut self, node: &Match, slots: &Slots) -> TokenStream {
        let Match { scrutinee, arms, .. } = node;
        let nothing = Set::new();
        if arms.iter().all(|arm| arm.body.range().is_none()) {
            let arms = arms.iter().map(|arm| {
                let (head, defs) = (head_of(arm), arm.defs.clone());
                let body = self.inner(&arm.body, TokenStream::new(), defs, slots, &nothing);
                quote!(#head => { #body })
            });
            return quote!(match #scrutinee { #(#arms)* });
        }
        let mixed = arms.iter().any(|arm| arm.body.range().is_none());
        let (natural, open) = self.open(slots, &(&mentions_of_header(node) & &node.at.live_in));
        let root = self.root;
        let select =
            |k: u32| if mixed { quote!(#root::internal::Chosen::Arm(#k)) } else { quote!(#k) };
        let (mut bindings, mut here) = (TokenStream::new(), TokenStream::new());
        let (mut heads, mut bodies) = (TokenStream::new(), TokenStream::new());
        for (k, arm) in (0u32..).zip(arms) {
            let (head, chosen) = (head_of(arm), select(k));
            let Some(range) = arm.body.range() else {
                let defs = arm.defs.clone();
                let body = self.inner(&arm.body, TokenStream::new(), defs, slots, &natural);
                heads.extend(quote!(#head => #root::internal::Chosen::Done({ #body }),));
                continue;
            };
            let within = within(range);
            here.extend(quote!(if #within { #chosen } else));
            let close = self.close(slots, &natural, &arm.body.live_in);
            let mut entry = TokenStream::new();
            if arm.defs.is_empty() {
                heads.extend(quote!(#head => { #close #chosen }));
            } else {
                let bound = self.fresh("bound");
                let names: Vec<&Ident> = arm.defs.iter().map(|id| self.name(*id)).collect();
                let pats = arm.defs.iter().map(|id| self.pat(*id));
                bindings.extend(quote!(let mut #bound = ::core::option::Option::None;));
                entry = quote!(let (#(#pats,)*) = #bound.unwrap(););
                heads.extend(quote!(#head => {
                    #bound = ::core::option::Option::Some((#(#names,)*));
                    #close
                    #chosen
                }));
            }
            let body = self.inner(&arm.body, entry, arm.defs.clone(), slots, &nothing);
            bodies.extend(quote!(#chosen => { #body }));
        }
        let done = mixed.then(|| quote!(#root::internal::Chosen::Done(__done) => __done,));
        let chosen = self.fresh("chosen");
        quote!({
            #bindings
            let #chosen = #here { #open match #scrutinee { #heads } };
            match #chosen { #done #bodies _ => ::core::unreachable!() }
        })
    }

    /// A condition outside any block: it takes what it names out of the slots, and puts back what is
    /// needed after it.
    fn header(&mut self, e: TokenStream, code: &Facts, slots: &Slots, after: &Set) -> TokenStream {
        let (natural, open) = self.open(slots, &code.mentions);
        let close = self.close(slots, &natural, after);
        let value = self.fresh("test");
        // A `let`, because the condition may start with a block.
        quote!(#open let #value = #e; #close #value)
    }

    /// Takes what a header names out of its slots ..
    fn open(&self, slots: &Slots, mentions: &Set) -> (Set, TokenStream) {
        let (mut natural, mut code) = (Set::new(), TokenStream::new());
        for (id, slot) in slots.iter().filter(|(id, _)| mentions.contains(id)) {
            let Some(slot) = slot else { continue };
            let pat = self.pat(*id);
            natural.insert(*id);
            code.extend(quote!(let #pat = #slot.take().unwrap();));
        }
        (natural, code)
    }

    /// .. and puts back what the chosen branch still needs.
    fn close(&self, slots: &Slots, natural: &Set, live: &Set) -> TokenStream {
        let mut code = TokenStream::new();
        for (id, slot) in slots.iter().filter(|(id, _)| natural.contains(id) && live.contains(id)) {
            let name = self.name(*id);
            code.extend(quote!(#slot = ::core::option::Option::Some(#name);));
        }
        code
    }
}

/// A pattern with its guard, as in the source.
fn head_of(arm: &Branch) -> TokenStream {
    let Branch { attrs, pat, guard, .. } = arm;
    let guard = guard.as_ref().map(|guard| quote!(if #guard));
    quote!(#(#attrs)* #pat #guard)
}

/// What scrutinee, guards and branches without suspensions name.
fn mentions_of_header(node: &Match) -> Set {
    let mut inside = Inside { mentions: node.code.mentions.clone(), ..Inside::default() };
    for arm in &node.arms {
        inside.mentions.extend(&arm.guard_code.mentions);
        if arm.body.range().is_none() {
            inside.seq(&arm.body);
        }
    }
    inside.mentions
}
