//! `#[derive(DomainEvent)]`.

mod check;
mod expand;
mod parse;

use proc_macro2::TokenStream;

use crate::collector::Collector;

pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let errors = Collector::new();
    let event = errors.keep(syn::parse2(input)).map(|input| {
        let args = parse::args(&input, &errors);
        check::check(input, args, &errors)
    });
    match (errors.into_compile_errors(), event) {
        (None, Some(event)) => expand::event(&event),
        (None, None) => TokenStream::new(),
        (Some(errors), event) => {
            let fallback = event.map(|event| expand::fallback(&event));
            quote::quote!(#errors #fallback)
        }
    }
}
