//! leno's attributes. Use them through `leno` or the crate of their layer.
//!
//! Each attribute exists twice: for users of its own crate, and, with `_in_leno`, for users of the
//! façade, which have no other name for what the generated code calls. What is said of both is a file in `docs/`,
//! whose examples name `leno` and are tested there: this crate cannot depend on what uses it.
#![forbid(unsafe_code)]

mod layer;
mod preemptible;
mod process;
mod resumable;

use proc_macro::TokenStream;

use self::layer::Layer;

type Expand =
    fn(Layer, proc_macro2::TokenStream, proc_macro2::TokenStream) -> proc_macro2::TokenStream;

/// Expands an attribute. Where that panics, which is a bug, the item is refused with what the panic says.
fn expanded(
    expand: Expand,
    layer: Layer,
    arguments: TokenStream,
    item: TokenStream,
) -> TokenStream {
    refuse_panics(move || expand(layer, arguments.into(), item.into())).into()
}

fn refuse_panics(expand: impl FnOnce() -> proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(expand)).unwrap_or_else(|payload| {
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = format!(
            "leno's attribute does not understand this item, which is a bug of leno's: {}\nhelp: write what is \
             unusual in it in another way",
            said.unwrap_or("it panicked")
        );
        syn::Error::new(proc_macro2::Span::call_site(), message).to_compile_error()
    })
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/preemptible.md"))]
#[proc_macro_attribute]
pub fn preemptible(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expanded(preemptible::expand, Layer::Process, arguments, item)
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/preemptible.md"))]
#[proc_macro_attribute]
pub fn preemptible_in_leno(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expanded(preemptible::expand, Layer::ProcessInLeno, arguments, item)
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/resumable.md"))]
#[proc_macro_attribute]
pub fn resumable(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(resumable::expand, Layer::Frame, options, item)
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/resumable.md"))]
#[proc_macro_attribute]
pub fn resumable_in_leno(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(resumable::expand, Layer::FrameInLeno, options, item)
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/process.md"))]
#[proc_macro_attribute]
pub fn process(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expanded(process::expand, Layer::Process, arguments, item)
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/process.md"))]
#[proc_macro_attribute]
pub fn process_in_leno(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expanded(process::expand, Layer::ProcessInLeno, arguments, item)
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::{Layer, process, refuse_panics, resumable};

    #[test]
    fn an_expansion_that_panics_is_an_error() {
        let refused = refuse_panics(|| panic!("what it says")).to_string();
        assert!(refused.contains("compile_error") && refused.contains("what it says"), "{refused}");
    }

    #[test]
    fn raw_identifiers_are_names_like_others() {
        let expanded = resumable::expand(
            Layer::Frame,
            quote!(),
            quote! {
                async fn r#fn(r#mut: &mut Co<u32, u32>, r#type: u32) -> u32 {
                    let r#match = 5u32;
                    let mut r#loop = 0;
                    let r#in = 'r#for: loop {
                        if r#loop > r#type { break 'r#for r#loop; }
                        r#loop += r#mut.suspend(1).await;
                    };
                    let r#await = format!("{match}");
                    r#fn(r#mut, r#in).await + r#match + r#await.len() as u32
                }
            },
        );
        let expanded = expanded.to_string();
        assert!(!expanded.contains("compile_error"), "{expanded}");
        for shown in ["\"match\"", "\"loop\"", "\"type\""] {
            assert!(expanded.contains(shown), "{shown}: {expanded}");
        }
    }

    #[test]
    fn the_value_of_a_let_else_may_be_a_struct_in_braces() {
        let expanded = resumable::expand(
            Layer::Frame,
            quote!(),
            quote! {
                async fn f(co: &mut Co<u32, u32>) -> u32 {
                    let Some(P { a }) = P { a: 2 }.some() else { return co.suspend(1).await };
                    a
                }
            },
        );
        assert!(!expanded.to_string().contains("compile_error"), "{expanded}");
    }

    #[test]
    fn an_entry_whose_name_makes_no_variant_is_refused() {
        for name in ["__", "_1", "self_"] {
            let name = quote::format_ident!("{name}");
            let item = quote!(impl P { #[entry] pub fn #name(&mut self) {} });
            let refused = process::expand(Layer::Process, quote!(), item).to_string();
            assert!(refused.contains("variant of the message"), "{refused}");
        }
        let item = quote!(impl P { #[entry] pub fn r#match(&mut self, r#type: u32) {} });
        let expanded = process::expand(Layer::Process, quote!(), item).to_string();
        assert!(expanded.contains("Match { r#type"), "{expanded}");
    }
}
