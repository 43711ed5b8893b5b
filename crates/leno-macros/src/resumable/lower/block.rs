//! Sequences.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Stmt};

use super::point::Wrapped;
use super::{Lower, Place, Slots};
use crate::resumable::ir::{Line, Node, Seq, Set, VarId};
use crate::resumable::live::Inside;

/// A sequence while its code is made.
pub(super) struct Draft {
    pub code: TokenStream,
    /// The variables in scope, later ones of a name instead of earlier ones.
    pub locals: Vec<VarId>,
    /// Declared but without a value; emitted right before the first line that names them.
    pub bare: HashMap<VarId, TokenStream>,
}

impl Draft {
    /// Emits the declarations that code with these mentions needs.
    pub(super) fn declare(&mut self, mentions: &Set) {
        for id in mentions {
            if let Some(declaration) = self.bare.remove(id) {
                self.code.extend(declaration);
            }
        }
    }
}

impl Lower<'_> {
    /// The contents of a block. `slots`: variables that enter and leave through the control flow around
    /// it, except for those in `natural`, which are under their own names already.
    pub(super) fn seq(
        &mut self,
        seq: &Seq,
        entry: TokenStream,
        owned: Vec<VarId>,
        slots: &Slots,
        natural: &Set,
    ) -> TokenStream {
        let saved = self.places.clone();
        let mut draft = Draft { code: entry, locals: owned, bare: HashMap::new() };
        self.take_from_slots(seq, slots, natural, &mut draft);
        let later = mentions_after(seq, slots);
        for (i, line) in seq.lines.iter().enumerate() {
            self.line(line, &mut draft, &later[i + 1]);
        }
        let end = later.last().expect("one more than lines");
        let tail = self.tail(seq, &mut draft, end);
        self.refuse_shadowed(seq, slots, &draft.locals);
        self.places.extend(draft.bare.keys().map(|id| (*id, Place::Gone)));
        let back = self.put_back(slots, &seq.out);
        let (items, mut out) = (&seq.items, TokenStream::new());
        out.extend(quote!(#(#items)*));
        out.extend(draft.code);
        out.extend(match tail {
            Some(tail) if back.is_empty() => tail,
            Some(tail) => {
                let value = self.fresh("v");
                quote!(let #value = #tail; #back #value)
            }
            None => back,
        });
        self.places = saved;
        out
    }

    fn take_from_slots(&mut self, seq: &Seq, slots: &Slots, natural: &Set, draft: &mut Draft) {
        let mut inside = Inside::default();
        inside.seq(seq);
        for (id, slot) in slots {
            let mentioned = inside.mentions.contains(id);
            if natural.contains(id) {
                // The control flow around has already taken it out of its slot.
            } else if seq.live_in.contains(id) && (mentioned || seq.range().is_some()) {
                let pat = self.pat(*id);
                draft.code.extend(quote!(let #pat = #slot.take().unwrap();));
            } else if !seq.live_in.contains(id) && mentioned {
                let name = self.name(*id);
                draft.bare.insert(*id, quote!(let mut #name;));
            } else {
                continue;
            }
            self.places.insert(*id, Place::Here);
            draft.locals.push(*id);
        }
    }

    fn line(&mut self, line: &Line, draft: &mut Draft, later: &Set) {
        match line {
            Line::Opaque { stmt, code, defs } => {
                draft.declare(&code.mentions);
                if let Stmt::Local(local) = &**stmt
                    && local.init.is_none()
                {
                    draft.bare.extend(defs.iter().map(|id| (*id, quote!(#stmt))));
                } else {
                    draft.code.extend(self.opaque_stmt(stmt, code));
                }
                self.define(&mut draft.locals, defs);
            }
            Line::Let(binding) => {
                let Wrapped { value, after } =
                    self.node(&binding.init, draft, &binding.live_out, later);
                let (attrs, pat) = (&binding.attrs, &binding.pat);
                let ty = binding.ty.as_ref().map(|ty| quote!(: #ty));
                draft.code.extend(quote!(#(#attrs)* let #pat #ty = #value; #after));
                self.define(&mut draft.locals, &binding.defs);
            }
            Line::Do { node, live_out } => {
                let Wrapped { value, after } = self.node(node, draft, live_out, later);
                draft.code.extend(quote!(#value; #after));
            }
        }
    }

    fn tail(&mut self, seq: &Seq, draft: &mut Draft, end: &Set) -> Option<TokenStream> {
        let node = seq.tail.as_deref()?;
        if let Node::Plain { expr, code } = node {
            draft.declare(&code.mentions);
            return Some(self.opaque_expr(expr, code));
        }
        let Wrapped { value, after } = self.node(node, draft, &seq.out, end);
        if after.is_empty() {
            return Some(value);
        }
        let name = self.fresh("v");
        draft.code.extend(quote!(let #name = #value; #after));
        Some(quote!(#name))
    }

    fn define(&mut self, locals: &mut Vec<VarId>, defs: &[VarId]) {
        for id in defs {
            let name = self.name(*id);
            if *name == self.co {
                let message = "the coroutine handle cannot be shadowed\nhelp: use another name";
                self.errors.push(Error::new(name.span(), message));
            }
            locals.retain(|local| self.name(*local) != name);
            locals.push(*id);
            self.places.insert(*id, Place::Here);
        }
    }

    /// A variable that has to leave the block by its name must be the one that the name means there.
    fn refuse_shadowed(&mut self, seq: &Seq, slots: &Slots, locals: &[VarId]) {
        for (id, _) in slots.iter().filter(|(id, _)| seq.out.contains(id)) {
            if self.places.get(id) != Some(&Place::Here) {
                continue;
            }
            let name = self.name(*id);
            let meant = locals.iter().rev().find(|local| self.name(**local) == name);
            if meant.is_some_and(|meant| meant != id) {
                let message = format!(
                    "`{name}` is shadowed in a block that suspends and used again after it\nhelp: \
                     rename one of the two"
                );
                self.errors.push(Error::new(name.span(), message));
            }
        }
    }
}

/// For each line, and for the tail, which variables the rest of the sequence names.
fn mentions_after(seq: &Seq, slots: &Slots) -> Vec<Set> {
    let leaving = slots.iter().map(|(id, _)| *id).filter(|id| seq.out.contains(id));
    let mut rest = Inside::default();
    let end: Set = leaving.collect();
    rest.mentions.extend(&end);
    seq.tail.iter().for_each(|tail| rest.node(tail));
    let mut after = vec![end, rest.mentions.clone()];
    for line in seq.lines.iter().rev() {
        rest.line(line);
        after.push(rest.mentions.clone());
    }
    // The tail's own `later` is what leaves, not what it names itself.
    let end = after.remove(0);
    after.reverse();
    after.push(end);
    after
}
