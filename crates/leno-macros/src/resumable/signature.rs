//! What a resumable function looks like from outside: its checks, and the function that makes a call.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Error, FnArg, GenericParam, Generics, Pat, ReceiverKind, Result, ReturnType, Safety, Signature,
    Type, parse_quote,
};

use crate::layer::Layer;
use crate::resumable::receiver;

/// The type an `impl` block is for.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub generics: &'a Generics,
    pub ty: &'a Type,
    /// Whether it stands in a trait or implements one: then captures name `Self` or nothing more.
    pub in_trait: bool,
}

/// A signature taken apart.
pub(crate) struct Parts {
    pub co: Ident,
    pub co_ty: Type,
    /// Of `self` and of the other parameters but the handle.
    pub pats: Vec<Pat>,
    pub tys: Vec<Type>,
    pub has_self: bool,
    pub output: Type,
    pub sig: Signature,
}

impl Parts {
    pub(crate) fn new(mut sig: Signature, owner: Option<Owner<'_>>) -> Result<Self> {
        check(&mut sig)?;
        let mut inputs = sig.inputs.iter().cloned().peekable();
        let (mut pats, mut tys): (Vec<Pat>, Vec<Type>) = Default::default();
        let mut has_self = false;
        if let Some(FnArg::Receiver(this)) = inputs.next_if(|arg| matches!(arg, FnArg::Receiver(_)))
        {
            let Some(owner) = owner else {
                return Err(Error::new(
                    this.span(),
                    "for methods, put `#[resumable]` on the `impl` block: a fn inside it cannot see \
                     the type of `Self`",
                ));
            };
            if !matches!(this.kind, ReceiverKind::Value) {
                return Err(Error::new(
                    this.span(),
                    "a resumable method cannot borrow `self`: the borrow would have to be stored in \
                     the frame\nhelp: take `self` by value, or make the object the context: `co: \
                     &mut Co<Yield, Input, Self>` and use `co.ctx()`",
                ));
            }
            let name = receiver::renamed(this.self_token.span());
            let mutable = this.mutability;
            pats.push(parse_quote!(#mutable #name));
            tys.push(if owner.in_trait && owner.generics.params.is_empty() && is_self(owner.ty) {
                parse_quote!(Self)
            } else {
                owner.ty.clone()
            });
            has_self = true;
        }
        let (co, co_ty) = inputs.next().as_ref().and_then(handle).ok_or_else(|| {
            Error::new(
                sig.paren_token.span.join(),
                "the first parameter of a resumable fn is the coroutine handle: `co: &mut Co<Yield, \
                 Input>`",
            )
        })?;
        for input in inputs {
            let FnArg::Typed(input) = input else { continue };
            check_owned(&input.ty)?;
            pats.push(*input.pat);
            tys.push(*input.ty);
        }
        let output = match &sig.output {
            ReturnType::Default => parse_quote!(()),
            ReturnType::Type(_, ty) => (**ty).clone(),
        };
        Ok(Parts { co, co_ty, pats, tys, has_self, output, sig })
    }

    /// The outer function up to its body.
    pub(crate) fn outer(&self, root: Layer, owner: Option<Owner<'_>>) -> TokenStream {
        let Parts { co, co_ty, tys, output, .. } = self;
        let (name, params) = (&self.sig.ident, &self.sig.generics.params);
        let generics = (!params.is_empty()).then(|| quote!(<#params>));
        let own_types = type_params(&self.sig.generics);
        let mut bounds = self.sig.generics.where_clause.clone();
        if !own_types.is_empty() {
            let bounds = bounds.get_or_insert_with(|| parse_quote!(where));
            for ty in &own_types {
                bounds.predicates.push(parse_quote!(#ty: 'static));
            }
        }
        let this = self.has_self.then(|| quote!(self,));
        let inputs = self.arguments().into_iter().zip(&tys[usize::from(self.has_self)..]);
        let inputs = inputs.map(|(name, ty)| quote!(#name: #ty));
        let in_definition = owner.is_some_and(|owner| owner.in_trait && is_self(owner.ty));
        let this_type = in_definition.then(|| quote!(Self,));
        let captured = captured(&self.all_generics(owner));
        let handle = quote!(<#co_ty as #root::internal::Handle>);
        quote!(fn #name #generics (#this #co: &mut #co_ty, #(#inputs),*) -> #root::Call<
            impl #root::Routine<
                Yield = #handle::Yield,
                Input = #handle::Input,
                Context = #handle::Context,
                Args = (#(#tys,)*),
                Output = #output,
            > + use<#this_type #(#captured),*>
        > #bounds)
    }

    /// What the parameters are called in the outer function.
    pub(crate) fn arguments(&self) -> Vec<Ident> {
        (0..self.tys.len() - usize::from(self.has_self))
            .map(|k| format_ident!("__arg{k}"))
            .collect()
    }

    /// Those of the `impl` block and those of the function.
    pub(crate) fn all_generics(&self, owner: Option<Owner<'_>>) -> Generics {
        let mut all = owner.map(|owner| owner.generics.clone()).unwrap_or_default();
        all.params.extend(self.sig.generics.params.iter().cloned());
        if let Some(bounds) = &self.sig.generics.where_clause {
            all.make_where_clause().predicates.extend(bounds.predicates.iter().cloned());
        }
        for ty in type_params(&all) {
            all.make_where_clause().predicates.push(parse_quote!(#ty: 'static));
        }
        all
    }
}

pub(crate) fn type_params(generics: &Generics) -> Vec<Ident> {
    generics.type_params().map(|param| param.ident.clone()).collect()
}

/// The names of types and constants.
pub(crate) fn captured(generics: &Generics) -> Vec<Ident> {
    let name = |param: &GenericParam| match param {
        GenericParam::Type(ty) => Some(ty.ident.clone()),
        GenericParam::Const(constant) => Some(constant.ident.clone()),
        _ => None,
    };
    generics.params.iter().filter_map(name).collect()
}

fn is_self(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("Self"))
}

fn check(sig: &mut Signature) -> Result<()> {
    if sig.asyncness.take().is_none() {
        return Err(Error::new(
            sig.fn_token.span(),
            "a resumable fn must be `async fn`: every place where it may suspend is marked by \
             `.await`\nhelp: write `async fn`",
        ));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        return Err(Error::new(
            token.span(),
            "a resumable fn cannot be `unsafe`: whoever restores it has promised nothing\nhelp: make it \
             safe, with `unsafe` blocks between its suspensions",
        ));
    }
    if let Some(lifetime) = sig.generics.lifetimes().next() {
        return Err(Error::new(
            lifetime.span(),
            "a resumable fn cannot have lifetime parameters: its frame owns everything it stores\n\
             help: take owned data, such as `String` or `Cow<'static, str>`",
        ));
    }
    Ok(())
}

/// Name and type of `co: &mut Co<..>`.
fn handle(input: &FnArg) -> Option<(Ident, Type)> {
    let FnArg::Typed(input) = input else { return None };
    match (&*input.pat, &*input.ty) {
        (Pat::Ident(name), Type::Reference(ty)) => {
            let tokens = quote!(#ty).to_string();
            tokens.contains("mut").then(|| (name.ident.clone(), (*ty.elem).clone()))
        }
        _ => None,
    }
}

fn check_owned(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(borrow)
            if borrow.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") =>
        {
            Err(Error::new(
                ty.span(),
                "a parameter of a resumable fn is stored in its frame, so it must own its data\nhelp: \
                 take `String` instead of `&str`, `Vec<T>` instead of `&[T]`; shared data belongs in \
                 the context (`co.ctx()`)",
            ))
        }
        Type::ImplTrait(ty) => Err(Error::new(
            ty.span(),
            "name this type: write `fn f<T: Trait>(.., x: T)`; `impl Trait` parameters have no name \
             for the stored frame",
        )),
        _ => Ok(()),
    }
}
