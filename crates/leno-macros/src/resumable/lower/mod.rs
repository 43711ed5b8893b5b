//! From [`crate::resumable::ir`] to an async body that can also be entered at any of its suspensions.
//!
//! Three rules:
//! 1. Sequential code nests to the left: what suspension k needs is a tuple, taken from the frame or
//!    produced by running everything before k. So the compiler infers every type, and control flow,
//!    `?`, labels and borrows stay its business.
//! 2. `if` and `match` first select a branch, with its bindings in an `Option`, and then run it: a
//!    frame can select the branch as well.
//! 3. A variable that is dead at some suspension inside control flow travels through an `Option`, its
//!    *slot*, or is declared anew: a frame that has no value for it must not need one.
//!
//! `block.rs` has sequences, `point.rs` suspensions and what is before them, `control.rs` control flow,
//! `jump.rs` jumps that leave it.

mod block;
mod control;
mod jump;
mod point;

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Lifetime};

use crate::layer::Layer;
use crate::resumable::ir::{Facts, Seq, Set, VarId};
use crate::resumable::resolve::Var;

/// Where a variable is.
#[derive(Clone, PartialEq)]
enum Place {
    /// Under its own name.
    Here,
    /// Used up on a path that does not reach the end of the block.
    Gone,
    Slot(Ident),
}

/// Variables that enter and leave control flow through slots; those without one live inside only.
type Slots = Vec<(VarId, Option<Ident>)>;

/// Control flow that a jump can leave.
struct Level {
    label: Option<String>,
    is_loop: bool,
    slots: Slots,
    on_break: Set,
    on_continue: Set,
}

pub(crate) struct Lower<'a> {
    vars: &'a [Var],
    co: Ident,
    root: Layer,
    /// A description of each suspension, in order.
    pub points: Vec<TokenStream>,
    pub errors: Vec<Error>,
    levels: Vec<Level>,
    places: HashMap<VarId, Place>,
    names: usize,
}

impl<'a> Lower<'a> {
    pub(crate) fn new(vars: &'a [Var], co: Ident, root: Layer) -> Self {
        Lower {
            vars,
            co,
            root,
            points: Vec::new(),
            errors: Vec::new(),
            levels: Vec::new(),
            places: HashMap::new(),
            names: 0,
        }
    }

    /// The body of the function; `params` are bound by `entry`.
    pub(crate) fn body(
        &mut self,
        seq: &Seq,
        entry: TokenStream,
        params: Vec<VarId>,
    ) -> TokenStream {
        self.places.extend(params.iter().map(|id| (*id, Place::Here)));
        self.seq(seq, entry, params, &Slots::new(), &Set::new())
    }

    /// A sequence inside control flow; `natural` are those that were already taken out of their slots.
    fn inner(
        &mut self,
        seq: &Seq,
        entry: TokenStream,
        owned: Vec<VarId>,
        slots: &Slots,
        natural: &Set,
    ) -> TokenStream {
        let saved = self.places.clone();
        self.places.extend(owned.iter().map(|id| (*id, Place::Here)));
        let code = self.seq(seq, entry, owned, slots, natural);
        self.places = saved;
        code
    }

    fn fresh(&mut self, name: &str) -> Ident {
        self.names += 1;
        hidden(&format!("__{name}{}", self.names))
    }

    fn var(&self, id: VarId) -> &'a Var {
        &self.vars[usize::from(id)]
    }

    fn name(&self, id: VarId) -> &'a Ident {
        &self.var(id).ident
    }

    /// The variable, shown at another place in messages.
    fn name_at(&self, id: VarId, span: Span) -> Ident {
        let name = self.name(id);
        let mut name = name.clone();
        name.set_span(span.resolved_at(name.span()));
        name
    }

    fn pat(&self, id: VarId) -> TokenStream {
        let name = self.name(id);
        if self.var(id).mutable { quote!(mut #name) } else { quote!(#name) }
    }

    /// What `taken` takes from the frame, or else the end of it: the error is kept by the coroutine.
    fn rewound(&self, taken: TokenStream) -> TokenStream {
        let (co, value, label) = (&self.co, hidden("__value"), frame_label());
        let (rewind, frame) = (rewind(), hidden("__frame"));
        quote!(match #co.rewound(&mut #rewind, |#frame| { #taken }) {
            ::core::option::Option::Some(#value) => #value,
            ::core::option::Option::None => break #label,
        })
    }

    fn take(&self, id: VarId) -> TokenStream {
        let (span, frame) = (self.name(id).span(), hidden("__frame"));
        quote_spanned!(span=> #frame.take(#id)?)
    }

    /// Puts variables back into their slots.
    fn put_back(&self, slots: &Slots, live: &Set) -> TokenStream {
        let mut code = TokenStream::new();
        for (id, slot) in slots.iter().filter(|(id, _)| live.contains(id)) {
            let Some(slot) = slot else { continue };
            match self.places.get(id) {
                Some(Place::Gone) => {}
                Some(Place::Slot(other)) if other == slot => {}
                Some(Place::Slot(other)) => code.extend(quote!(#slot = #other.take();)),
                _ => {
                    let name = self.name(*id);
                    code.extend(quote!(#slot = ::core::option::Option::Some(#name);));
                }
            }
        }
        code
    }

    fn has_slots_to_leave(&self, facts: &Facts) -> bool {
        !facts.jumps.is_empty() && self.levels.iter().any(|level| !level.slots.is_empty())
    }
}

/// Whether the body rewinds to one of these suspensions.
fn within((lo, hi): (u32, u32)) -> TokenStream {
    let rewind = rewind();
    quote!(#rewind.within(#lo, #hi))
}

/// Where a frame that cannot be restored leaves the body.
pub(crate) fn frame_label() -> Lifetime {
    Lifetime::new("'__frame", Span::mixed_site())
}

/// A name that users' code cannot see.
pub(crate) fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn hidden_at(name: &str, span: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(span))
}

pub(crate) fn rewind() -> Ident {
    hidden("__rewind")
}
