//! Suspensions, and how the code before a suspension becomes one way of getting there.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::Error;

use super::block::Draft;
use super::{Lower, Place, Slots, hidden, hidden_at, within};
use crate::resumable::ir::{Extent, Node, Point, Set, VarId};
use crate::resumable::names::text;
use crate::resumable::normal::TEMPORARY;
use crate::resumable::receiver::RECEIVER;

/// A line after the code before it was wrapped: its value, and what has to be declared after it.
pub(super) struct Wrapped {
    pub value: TokenStream,
    pub after: TokenStream,
}

impl Wrapped {
    fn value(value: TokenStream) -> Self {
        Wrapped { value, after: TokenStream::new() }
    }
}

impl Lower<'_> {
    /// A line or tail that is control flow or a suspension. `later`: what the lines after it name.
    pub(super) fn node(
        &mut self,
        node: &Node,
        draft: &mut Draft,
        live_out: &Set,
        later: &Set,
    ) -> Wrapped {
        match node {
            Node::Plain { expr, code } => {
                draft.declare(&code.mentions);
                Wrapped::value(self.opaque_expr(expr, code))
            }
            Node::Point(point) => {
                self.before_point(point, draft, later);
                Wrapped::value(self.point(point))
            }
            Node::If(_) | Node::Match(_) | Node::Loop { .. } | Node::Block { .. } => {
                let at = node.extent().expect("control flow has an extent");
                if at.is_empty() {
                    draft.declare(&at.mentions);
                    return Wrapped::value(self.control(node, &Slots::new()));
                }
                let slots = self.before_control(at, draft, live_out, later);
                let value = self.control(node, &slots);
                let after = self.after_control(&slots, draft, live_out, later);
                Wrapped { value, after }
            }
        }
    }

    /// `let (live.., point) = if rewinding here { from the frame } else { code before };`
    fn before_point(&mut self, point: &Point, draft: &mut Draft, later: &Set) {
        draft.declare(&point.code.mentions);
        let (co, frame) = (self.co.clone(), hidden("__frame"));
        let kept: Vec<VarId> =
            draft.locals.iter().filter(|id| point.live.contains(id)).copied().collect();
        let takes = kept.iter().map(|id| self.take(*id));
        let pats: Vec<TokenStream> = kept.iter().map(|id| self.pat(*id)).collect();
        let names: Vec<Ident> = kept.iter().map(|id| self.name_at(*id, point.span)).collect();
        let (slot, taken) = (hidden("__point"), hidden("__taken"));
        let restore = self.rewound(quote!(
            let #taken = (#(#takes,)*);
            #frame.arrive()?;
            ::core::option::Option::Some(#taken)
        ));
        let (here, operand) = (within((point.id, point.id)), &point.operand);
        let before = std::mem::take(&mut draft.code);
        // Both at the `.await`, which is where the compiler is to say what cannot be awaited.
        let awaited = Ident::new("__awaited", point.span);
        let hold = quote_spanned!(point.span=> #co.hold(#awaited));
        let held = quote_spanned!(point.span=> #co.held());
        draft.code = quote!(let (#(#pats,)* mut #slot,) = if #here {
            let (#(#names,)*) = #restore;
            (#(#names,)* #held,)
        } else {
            #before
            let #awaited = #operand;
            let #slot = #hold;
            (#(#names,)* #slot,)
        };);
        self.forget(draft, &kept, later);
    }

    /// Variables that are neither kept nor in slots are declared anew if a later line assigns them.
    fn forget(&mut self, draft: &mut Draft, kept: &[VarId], later: &Set) {
        for id in draft.locals.iter().filter(|id| !kept.contains(id) && later.contains(id)) {
            let name = self.name(*id);
            draft.bare.entry(*id).or_insert_with(|| quote!(let mut #name;));
        }
        draft.locals.retain(|id| kept.contains(id) || later.contains(id));
    }

    /// As [`Lower::before_point`]; variables that some suspension inside does not need get slots.
    fn before_control(
        &mut self,
        at: &Extent,
        draft: &mut Draft,
        live_out: &Set,
        later: &Set,
    ) -> Slots {
        let always = |id: &VarId| {
            at.live_in.contains(id) && at.points.iter().all(|point| point.contains(id))
        };
        let inside = |id: &VarId| at.live_in.contains(id) || at.mentions.contains(id);
        let kept: Vec<VarId> = draft.locals.iter().filter(|id| always(id)).copied().collect();
        let part: Vec<VarId> =
            draft.locals.iter().filter(|id| !always(id) && inside(id)).copied().collect();
        let mut slots = Slots::new();
        for id in &part {
            let needed = at.live_in.contains(id) || live_out.contains(id);
            let slot = needed.then(|| self.fresh(&format!("slot_{}", text(self.name(*id)))));
            slots.push((*id, slot));
        }
        let (filled, empty): (Vec<_>, Vec<_>) =
            slots.iter().partition(|(id, _)| at.live_in.contains(id));
        let takes: Vec<TokenStream> = kept.iter().map(|id| self.take(*id)).collect();
        let pats = kept.iter().map(|id| self.pat(*id));
        let names = kept.iter().map(|id| self.name(*id));
        let values = filled.iter().map(|(id, _)| self.name(*id));
        let filled: Vec<&Ident> = filled.iter().filter_map(|(_, slot)| slot.as_ref()).collect();
        let nones = filled.iter().map(|_| quote!(::core::option::Option::None));
        let taken = quote!((#(#takes,)* #(#nones,)*));
        let restore = if takes.is_empty() {
            taken
        } else {
            self.rewound(quote!(::core::option::Option::Some(#taken)))
        };
        let (here, before) = (within((at.lo, at.hi)), std::mem::take(&mut draft.code));
        draft.code = if kept.is_empty() && filled.is_empty() {
            quote!(if !#here { #before })
        } else {
            quote!(let (#(#pats,)* #(mut #filled,)*) = if #here { #restore } else {
                #before
                (#(#names,)* #(::core::option::Option::Some(#values),)*)
            };)
        };
        for slot in empty.iter().filter_map(|(_, slot)| slot.as_ref()) {
            draft.code.extend(quote!(let mut #slot = ::core::option::Option::None;));
        }
        let inside: Vec<VarId> = kept.into_iter().chain(part).collect();
        draft.bare.retain(|id, _| !inside.contains(id));
        self.forget(draft, &inside, later);
        slots
    }

    /// Takes out of their slots what is needed after control flow.
    fn after_control(
        &mut self,
        slots: &Slots,
        draft: &mut Draft,
        live_out: &Set,
        later: &Set,
    ) -> TokenStream {
        let mut after = TokenStream::new();
        for (id, slot) in slots {
            if live_out.contains(id) && slot.is_some() {
                let pat = self.pat(*id);
                after.extend(quote!(let #pat = #slot.unwrap();));
            } else if later.contains(id) {
                let name = self.name(*id);
                draft.bare.insert(*id, quote!(let mut #name;));
            }
            self.places.insert(*id, Place::Here);
        }
        after
    }

    /// The suspension itself. Asked to capture, it writes what is live and goes on waiting.
    fn point(&mut self, point: &Point) -> TokenStream {
        self.refuse_guards(point);
        let (id, root, co) = (point.id, self.root, self.co.clone());
        let out = hidden("__out");
        let (mut puts, mut locals) = (TokenStream::new(), Vec::new());
        for id in &point.live {
            let name = self.name(*id);
            let text = text(name);
            let visible = point.env.iter().find(|(known, _)| *known == text).map(|(_, id)| *id);
            if visible != Some(*id) {
                let message = format!(
                    "`{name}` is needed after a suspension, but another `{name}` shadows it there\n\
                     help: rename one of the two"
                );
                self.errors.push(Error::new(name.span(), message));
                continue;
            }
            let shown = match text.strip_prefix(TEMPORARY) {
                Some(number) => format!("${number}"),
                None if text == RECEIVER => "self".into(),
                None => text,
            };
            let span = name.span();
            let value = quote_spanned!(span=> &#name);
            let put = Ident::new("put", point.span);
            puts.extend(quote!(#out.#put(#shown, #value);));
            locals.push(quote!((#id, #shown)));
        }
        let (label, span) = (&point.label, point.span);
        let line = quote_spanned!(span=> ::core::line!());
        self.points.push(quote!(#root::internal::Place::new(#label, #line, &[#(#locals),*])));
        let slot = hidden_at("__point", span);
        let step = quote_spanned!(span=> #co.step(&mut #slot).await);
        let mutable = (!puts.is_empty()).then(|| quote!(mut));
        let describe = Ident::new("__FUNCTION", point.span);
        quote!(loop {
            match #step {
                #root::internal::Step::Done(__done) => break __done,
                #root::internal::Step::Capture => {
                    let #mutable #out = #co.capture(#describe, #id);
                    #puts
                    #out.end();
                }
            }
        })
    }

    /// A variable nobody uses after a suspension is not in its frame, and so is dropped there. For one
    /// that is only kept to be dropped later, that would be a surprise.
    fn refuse_guards(&mut self, point: &Point) {
        for (name, id) in &point.env {
            let kept_for_its_drop = name.starts_with('_') && !name.starts_with("__");
            if self.var(*id).plain && kept_for_its_drop && !point.live.contains(id) {
                let message = format!(
                    "`{name}` is not used after a suspension in its scope, so no frame keeps it: it \
                     would be dropped at the suspension\nhelp: end it explicitly with `drop({name})` \
                     or an inner block, or write `let _ = ..`"
                );
                self.errors.push(Error::new(self.name(*id).span(), message));
            }
        }
    }
}
