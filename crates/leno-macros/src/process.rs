//! `#[process]`: an `impl` block with entries becomes a process.
//!
//! Of the entries it makes an enum of messages, one variant each, so that a call is moved into the
//! mailbox without a box; a `...Ref` whose methods post them; and the process's side, which takes a
//! message apart and calls the method. The methods themselves stay as they are.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Expr, FnArg, ImplItem, ImplItemFn, ItemImpl, Pat, ReceiverKind, ReturnType, Type,
    Visibility,
};

use crate::layer::Layer;

pub(crate) fn expand(layer: Layer, arguments: TokenStream, item: TokenStream) -> TokenStream {
    match try_expand(layer, arguments, item) {
        Ok(tokens) => tokens,
        Err(error) => error.to_compile_error(),
    }
}

/// An entry, as it was written.
struct Entry {
    name: Ident,
    variant: Ident,
    visibility: Visibility,
    documentation: Vec<Attribute>,
    /// Whether it gets the process's own side.
    takes_me: bool,
    arguments: Vec<(Ident, Type)>,
    result: Option<Type>,
    guard: Option<Expr>,
}

/// What the methods of a block are for.
#[derive(Default)]
struct Parts {
    entries: Vec<Entry>,
    body: Option<(Ident, bool)>,
    last: Option<Ident>,
}

fn try_expand(layer: Layer, arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let visibility: Visibility = syn::parse2(arguments)?;
    let mut block: ItemImpl = syn::parse2(item)?;
    let name = name_of(&block)?;
    let mut parts = Parts::default();
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item {
            parts.read(method)?;
        }
    }
    let message = format_ident!("{name}Message");
    let reference = format_ident!("{name}Ref");
    let variants = parts.entries.iter().map(|entry| entry.variant_of(layer));
    let calls = parts.entries.iter().map(|entry| entry.call(layer, &message));
    let serves = parts.entries.iter().map(|entry| entry.serve(&message));
    let guards = parts.entries.iter().filter_map(|entry| entry.is_open(&message));
    let revoked = parts.entries.iter().filter_map(|entry| entry.is_revoked(&message));
    let run = parts.body.as_ref().map(|(body, takes_me)| {
        let me = takes_me.then(|| quote!(me));
        quote!(fn run(&mut self, me: &#layer::Me<Self>) { let _ = me; self.#body(#me); })
    });
    let stopped = parts.last.as_ref().map(|last| quote!(fn stopped(&mut self) { self.#last(); }));
    let about = format!("Calls the entries of a [`{name}`].");
    let about_message = format!("A call of an entry of [`{name}`].");
    Ok(quote! {
        #block

        #[doc = #about_message]
        #[allow(missing_docs, unreachable_pub, reason = "made by #[process]")]
        #visibility enum #message { #(#variants),* }

        #[allow(unused_variables, unreachable_code, unreachable_patterns, clippy::unit_arg,
            clippy::match_single_binding, reason = "made by #[process]")]
        impl #layer::Process for #name {
            type Message = #message;
            type Ref = #reference;

            fn serve(&mut self, message: #message, me: &#layer::Me<Self>) {
                match message { #(#serves)* }
            }

            fn may_serve(&self, message: &#message) -> bool {
                match message { #(#guards)* _ => true }
            }

            #[inline]
            fn is_revoked(message: &#message) -> bool {
                match message { #(#revoked)* _ => false }
            }

            #run
            #stopped
        }

        #[doc = #about]
        #[allow(unreachable_pub, reason = "made by #[process]")]
        #[derive(Clone, Debug)]
        #visibility struct #reference(#layer::Address<#name>);

        #[allow(dead_code, unreachable_patterns, clippy::type_complexity, clippy::double_must_use,
            reason = "made by #[process]")]
        impl #reference { #(#calls)* }

        impl ::core::convert::From<#layer::Address<#name>> for #reference {
            fn from(address: #layer::Address<#name>) -> Self {
                #reference(address)
            }
        }

        impl ::core::ops::Deref for #reference {
            type Target = #layer::Address<#name>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    })
}

fn name_of(block: &ItemImpl) -> syn::Result<Ident> {
    if block.trait_.is_some() {
        return Err(syn::Error::new_spanned(
            &block.self_ty,
            "#[process] is for the inherent impl of a type, not for that of a trait",
        ));
    }
    if !block.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(
            &block.generics,
            "#[process]: a process has no type parameters; wrap the one type it needs",
        ));
    }
    match &*block.self_ty {
        Type::Path(path) if path.qself.is_none() => match path.path.get_ident() {
            Some(name) => Ok(name.clone()),
            None => Err(syn::Error::new_spanned(
                path,
                "#[process] stands in the module of its type: name that by one word",
            )),
        },
        other => Err(syn::Error::new_spanned(other, "#[process] is for a struct or an enum")),
    }
}

impl Parts {
    /// Takes the attributes of a method that are this macro's.
    fn read(&mut self, method: &mut ImplItemFn) -> syn::Result<()> {
        let is = |attribute: &Attribute, name: &str| attribute.path().is_ident(name);
        let own =
            |attribute: &Attribute| ["entry", "body", "last"].iter().any(|n| is(attribute, n));
        let Some(place) = method.attrs.iter().position(own) else { return Ok(()) };
        let attribute = method.attrs.remove(place);
        if let Some(second) = method.attrs.iter().find(|attribute| own(attribute)) {
            return Err(syn::Error::new_spanned(
                second,
                "a method is one of #[entry], #[body] and #[last]",
            ));
        }
        let arguments = Arguments::of(method)?;
        if is(&attribute, "entry") {
            let guard = guard_of(&attribute)?;
            self.entries.push(Entry::new(method, arguments, guard)?);
            return Ok(());
        }
        let found = if is(&attribute, "body") { "#[body]" } else { "#[last]" };
        let me = usize::from(arguments.takes_me && is(&attribute, "body"));
        let has_more = !arguments.others.is_empty() || usize::from(arguments.takes_me) > me;
        let is_second = match found {
            "#[body]" => {
                self.body.replace((method.sig.ident.clone(), arguments.takes_me)).is_some()
            }
            _ => self.last.replace(method.sig.ident.clone()).is_some(),
        };
        if has_more {
            let text = format!("nobody calls {found}, so it has no arguments");
            return Err(syn::Error::new_spanned(&method.sig, text));
        }
        if is_second {
            let text = format!("a process has one {found}");
            return Err(syn::Error::new_spanned(&method.sig, text));
        }
        Ok(())
    }
}

/// `when = EXPRESSION`.
fn guard_of(attribute: &Attribute) -> syn::Result<Option<Expr>> {
    let mut guard = None;
    if matches!(attribute.meta, syn::Meta::Path(_)) {
        return Ok(None);
    }
    attribute.parse_nested_meta(|meta| {
        if !meta.path.is_ident("when") {
            return Err(meta.error("#[entry] knows `when = condition` only"));
        }
        guard = Some(meta.value()?.parse()?);
        Ok(())
    })?;
    Ok(guard)
}

/// What a method takes besides `self`.
struct Arguments {
    takes_me: bool,
    others: Vec<(Ident, Type)>,
}

impl Arguments {
    fn of(method: &ImplItemFn) -> syn::Result<Arguments> {
        let signature = &method.sig;
        let refused = |tokens: &dyn ToTokens, why: &str| Err(syn::Error::new_spanned(tokens, why));
        if let Some(token) = &signature.asyncness {
            return refused(
                token,
                "an entry is served on the process's own stack: it is not async",
            );
        }
        if !signature.generics.params.is_empty() {
            return refused(
                &signature.generics,
                "an entry has no parameters but its arguments: its calls are messages of one type",
            );
        }
        let mut inputs = signature.inputs.iter();
        match inputs.next() {
            Some(FnArg::Receiver(receiver))
                if matches!(receiver.kind, ReceiverKind::Reference(..)) => {}
            _ => {
                let why = "the process serves it, so it takes `&mut self`";
                return refused(&signature.ident, why);
            }
        }
        let mut arguments = Arguments { takes_me: false, others: Vec::new() };
        for (place, input) in inputs.enumerate() {
            let FnArg::Typed(input) = input else { continue };
            if place == 0 && is_me(&input.ty) {
                arguments.takes_me = true;
                continue;
            }
            if let Type::Reference(_) = &*input.ty {
                return refused(
                    &input.ty,
                    "an argument of an entry is moved to the process: a value, something immutable \
                     that is shared (`Arc`), or something unique (`Box`), not a reference",
                );
            }
            let Pat::Ident(pattern) = &*input.pat else {
                return refused(&input.pat, "an argument of an entry has a plain name");
            };
            arguments.others.push((pattern.ident.clone(), (*input.ty).clone()));
        }
        Ok(arguments)
    }
}

/// `&Me<..>`.
fn is_me(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Me")
}

impl Entry {
    fn new(method: &ImplItemFn, arguments: Arguments, guard: Option<Expr>) -> syn::Result<Entry> {
        let name = method.sig.ident.clone();
        let words = name.unraw().to_string();
        let words = words.split('_').map(|word| {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect::<String>()
        });
        let Ok(mut variant) = syn::parse_str::<Ident>(&words.collect::<String>()) else {
            return Err(syn::Error::new_spanned(
                &name,
                "the name of an entry is also that of a variant of the message, in camel case: it needs a letter, \
                 before any digit, and cannot be `self_`",
            ));
        };
        variant.set_span(name.span());
        Ok(Entry {
            variant,
            visibility: method.vis.clone(),
            documentation: method
                .attrs
                .iter()
                .filter(|attribute| attribute.path().is_ident("doc"))
                .cloned()
                .collect(),
            takes_me: arguments.takes_me,
            arguments: arguments.others,
            result: match &method.sig.output {
                ReturnType::Default => None,
                ReturnType::Type(_, result) => Some((**result).clone()),
            },
            guard,
            name,
        })
    }

    fn names(&self) -> Vec<&Ident> {
        self.arguments.iter().map(|(name, _)| name).collect()
    }

    /// The field that carries the duty to answer. No argument can have its name.
    fn answer() -> Ident {
        Ident::new("__answer", Span::call_site())
    }

    fn variant_of(&self, layer: Layer) -> TokenStream {
        let Entry { variant, .. } = self;
        let fields = self.arguments.iter().map(|(name, ty)| quote!(#name: #ty));
        let answer = Entry::answer();
        let answer = self.result.as_ref().map(|result| quote!(#answer: #layer::Answer<#result>,));
        quote!(#variant { #(#fields,)* #answer })
    }

    /// How the process serves it.
    fn serve(&self, message: &Ident) -> TokenStream {
        let Entry { name, variant, .. } = self;
        let names = self.names();
        let me = self.takes_me.then(|| quote!(me,));
        let call = quote!(self.#name(#me #(#names),*));
        let answer = Entry::answer();
        if self.result.is_some() {
            quote!(#message::#variant { #(#names,)* #answer } => { #answer.give(#call); })
        } else {
            quote!(#message::#variant { #(#names,)* } => { #call; })
        }
    }

    /// Whether its caller has withdrawn it.
    fn is_revoked(&self, message: &Ident) -> Option<TokenStream> {
        let (variant, answer) = (&self.variant, Entry::answer());
        self.result.as_ref()?;
        Some(quote!(#message::#variant { #answer, .. } => #answer.is_revoked(),))
    }

    /// Its guard, which may look at the arguments.
    fn is_open(&self, message: &Ident) -> Option<TokenStream> {
        let (variant, names, guard) = (&self.variant, self.names(), self.guard.as_ref()?);
        Some(quote!(#message::#variant { #(#names,)* .. } => #guard,))
    }

    /// How others call it.
    fn call(&self, layer: Layer, message: &Ident) -> TokenStream {
        let Entry { name, variant, visibility, documentation, .. } = self;
        let (names, types): (Vec<_>, Vec<_>) =
            self.arguments.iter().map(|(name, ty)| (name, ty)).unzip();
        // One as it is, several as a tuple.
        let (back, back_type) = match (&names[..], &types[..]) {
            ([name], [ty]) => (quote!(#name), quote!(#ty)),
            _ => (quote!((#(#names),*)), quote!((#(#types),*))),
        };
        let refused = quote!(#layer::Refused<#back_type>);
        let take_back = quote! {
            refused.map(|message| match message {
                #message::#variant { #(#names,)* .. } => #back,
                _ => ::core::unreachable!("what comes back is what was sent"),
            })
        };
        let head = quote! {
            #(#documentation)*
            ///
            /// # Errors
            /// When the process was stopped, or its mailbox is full and refuses; the arguments come back.
            #[track_caller]
        };
        if let Some(result) = &self.result {
            let answer = Entry::answer();
            quote! {
                #head
                #visibility fn #name(&self, #(#names: #types),*)
                    -> ::core::result::Result<#layer::Reply<#result>, #refused>
                {
                    let (#answer, reply) = self.0.answer();
                    match self.0.post_with(move || #message::#variant { #(#names,)* #answer }) {
                        ::core::result::Result::Ok(()) => ::core::result::Result::Ok(reply),
                        ::core::result::Result::Err(refused) => {
                            ::core::result::Result::Err(#take_back)
                        }
                    }
                }
            }
        } else {
            quote! {
                #head
                #visibility fn #name(&self, #(#names: #types),*)
                    -> ::core::result::Result<(), #refused>
                {
                    self.0.post_with(move || #message::#variant { #(#names,)* }).map_err(|refused| #take_back)
                }
            }
        }
    }
}
