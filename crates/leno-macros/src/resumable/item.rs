//! Puts a body that can be captured and rewound into the function it came from.
//!
//! `async fn f(co, args..) -> T` becomes a function that returns a call, which holds the arguments. In
//! it is a type of its own that implements `Routine`; its `body` is the async function that runs.
//! If a body is refused, the function is there all the same, without a body, so that those who call it
//! are not refused as well.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Block, Error, GenericParam, ImplItem, Item, ItemImpl, ItemTrait, Result, TraitItem,
    Type, Visibility, parse_quote,
};

use crate::layer::Layer;
use crate::resumable::live::Live;
use crate::resumable::lower::{Lower, frame_label, hidden, rewind};
use crate::resumable::names::bound;
use crate::resumable::normal::Normal;
use crate::resumable::options::Options;
use crate::resumable::receiver::Rename;
use crate::resumable::resolve::Resolve;
use crate::resumable::signature::{Owner, Parts, captured, type_params};
use crate::resumable::{find, ir};

pub(crate) fn expand(root: Layer, options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = syn::parse2::<Options>(options).and_then(|options| {
        let id = options.id;
        match syn::parse2::<Item>(item)? {
            Item::Fn(f) => {
                let parts = Parts::new(f.sig, None)?;
                Ok(function(root, id, &f.attrs, &f.vis, &parts, *f.block, None))
            }
            Item::Impl(block) => implementation(root, id, block),
            Item::Trait(item) => definition(root, item),
            item => Err(Error::new(
                item.span(),
                "`#[resumable]` goes on an `async fn`, on an `impl` block with async fns, or on a trait \
                 that declares some",
            )),
        }
    });
    expanded.unwrap_or_else(|error| error.to_compile_error())
}

fn implementation(root: Layer, id: Option<String>, mut block: ItemImpl) -> Result<TokenStream> {
    let (generics, ty) = (block.generics.clone(), (*block.self_ty).clone());
    let owner = Owner { generics: &generics, ty: &ty, in_trait: block.trait_.is_some() };
    for item in &mut block.items {
        if let ImplItem::Fn(f) = item
            && f.sig.asyncness.is_some()
        {
            let parts = Parts::new(f.sig.clone(), Some(owner))?;
            let id = id.as_ref().map(|id| format!("{id}::{}", f.sig.ident));
            let body = f.block.clone();
            *item =
                ImplItem::Verbatim(function(root, id, &f.attrs, &f.vis, &parts, body, Some(owner)));
        }
    }
    Ok(block.into_token_stream())
}

/// In a trait, the signatures alone.
fn definition(root: Layer, mut item: ItemTrait) -> Result<TokenStream> {
    let (generics, ty): (_, Type) = (item.generics.clone(), parse_quote!(Self));
    let owner = Owner { generics: &generics, ty: &ty, in_trait: true };
    for item in &mut item.items {
        if let TraitItem::Fn(f) = item
            && f.sig.asyncness.is_some()
        {
            if let Some(body) = &f.default {
                return Err(Error::new(
                    body.span(),
                    "a resumable fn of a trait cannot have a body here\nhelp: write it in each `impl`, \
                     or as a function outside the trait",
                ));
            }
            let parts = Parts::new(f.sig.clone(), Some(owner))?;
            let (attrs, outer) = (&f.attrs, parts.outer(root, Some(owner)));
            *item = TraitItem::Verbatim(quote!(#(#attrs)* #outer;));
        }
    }
    item.supertraits.push(parse_quote!('static));
    item.supertraits.push(parse_quote!(::core::marker::Sized));
    item.supertraits.push(parse_quote!(::core::marker::Send));
    Ok(item.into_token_stream())
}

/// The body's code and its suspensions, or why there is none.
fn body_of(
    root: Layer,
    parts: &Parts,
    mut body: Block,
    owner: Option<Owner<'_>>,
) -> Result<(TokenStream, Vec<TokenStream>)> {
    if let Some(owner) = owner {
        Rename(owner.ty).visit_block_mut(&mut body);
    }
    let mut errors = find::misplaced(&body);
    let mut normal = Normal::new(root);
    let mut seq = normal.block(body);
    errors.append(&mut normal.errors);
    let mut resolve = Resolve::new(normal.counts, &parts.co);
    let params = resolve.declare(parts.pats.iter().flat_map(bound).collect());
    resolve.seq(&mut seq);
    errors.append(&mut resolve.errors);
    Live::default().seq(&mut seq, &ir::Set::new());
    let (pats, co, args) = (&parts.pats, &parts.co, hidden("__args"));
    let entry = quote!(let (#(#pats,)*) = #co.arguments(#args););
    let mut lower = Lower::new(&resolve.vars, parts.co.clone(), root);
    let code = lower.body(&seq, entry, params);
    errors.append(&mut lower.errors);
    let all = errors.into_iter().reduce(|mut all, error| {
        all.combine(error);
        all
    });
    all.map_or(Ok((code, lower.points)), Err)
}

fn function(
    root: Layer,
    id: Option<String>,
    attrs: &[Attribute],
    vis: &Visibility,
    parts: &Parts,
    body: Block,
    owner: Option<Owner<'_>>,
) -> TokenStream {
    let (refused, (code, points)) = match body_of(root, parts, body, owner) {
        Ok(body) => (None, body),
        Err(error) => {
            let none = quote!(::core::panic!("the body of this function was refused"));
            (Some(error.to_compile_error()), (none, Vec::new()))
        }
    };
    let name = &parts.sig.ident;
    let path = id.map_or_else(
        || {
            let owner = owner.map(|owner| owner.ty);
            let owner = owner.map(|ty| quote!(::core::stringify!(#ty), "::",));
            let name = quote!(::core::stringify!(#name));
            quote!(::core::concat!(::core::module_path!(), "::", #owner #name))
        },
        |id| quote!(#id),
    );
    let all = parts.all_generics(owner);
    let (impl_generics, type_generics, bounds) = all.split_for_impl();
    let (declared, types, uses) = (bare(&all.params), type_params(&all), captured(&all));
    let generic = !types.is_empty();
    let routine = if uses.is_empty() { quote!(__Routine) } else { quote!(__Routine::<#(#uses),*>) };
    let (mut tys, mut output, mut co_ty) =
        (parts.tys.clone(), parts.output.clone(), parts.co_ty.clone());
    if let Some(owner) = owner {
        let mut rename = Rename(owner.ty);
        tys.iter_mut().for_each(|ty| rename.visit_type_mut(ty));
        rename.visit_type_mut(&mut output);
        rename.visit_type_mut(&mut co_ty);
    }
    let handle = quote!(<#co_ty as #root::internal::Handle>);
    let (seed, rewind, args) = (hidden("__seed"), rewind(), hidden("__args"));
    let (co, frame, count) = (&parts.co, frame_label(), points.len());
    let outer = parts.outer(root, owner);
    let this = parts.has_self.then(|| quote!(self,));
    let arguments = parts.arguments();
    let async_fn = quote_spanned!(name.span()=> async fn);
    quote! {
        #refused
        #(#attrs)*
        #[allow(clippy::multiple_bound_locations, clippy::needless_pass_by_value, clippy::type_complexity)]
        #vis #outer {
            struct __Routine<#(#declared),*>(#(::core::marker::PhantomData<fn() -> *const #types>),*);
            static __POINTS: [#root::internal::Place; #count] = [#(#points),*];
            static __FUNCTION: &#root::internal::Function =
                &#root::internal::Function::new(#path, #generic, &__POINTS);
            impl #impl_generics #root::Routine for __Routine #type_generics #bounds {
                type Yield = #handle::Yield;
                type Input = #handle::Input;
                type Context = #handle::Context;
                type Args = (#(#tys,)*);
                type Output = #output;
                #[allow(unused_mut, unused_assignments, unused_parens, unused_braces, unreachable_code, clippy::all)]
                #async_fn body<'__f>(
                    mut #seed: #root::internal::Seed<'__f, Self::Yield, Self::Input, Self::Context>,
                    #args: #root::internal::Args<Self>,
                ) -> #output {
                    let #co: &mut #co_ty = #seed.handle();
                    #frame: {
                        let ::core::option::Option::Some(mut #rewind) = #co.enter(__FUNCTION) else {
                            break #frame;
                        };
                        return { #code };
                    }
                    #co.parked().await
                }
            }
            let _ = #co;
            #root::Call::<#routine>::new((#this #(#arguments,)*))
        }
    }
}

/// Parameters without their bounds.
fn bare<'a>(params: impl IntoIterator<Item = &'a GenericParam>) -> Vec<TokenStream> {
    let bare = |param: &GenericParam| match param {
        GenericParam::Type(ty) => ty.ident.to_token_stream(),
        GenericParam::Const(constant) => {
            let (name, ty) = (&constant.ident, &constant.ty);
            quote!(const #name: #ty)
        }
        param => param.to_token_stream(),
    };
    params.into_iter().map(bare).collect()
}
