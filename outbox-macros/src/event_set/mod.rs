//! `#[derive(EventSet)]`, and the impls of every set of events.

mod check;
mod expand;
mod parse;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Generics, Type};

pub(crate) use expand::impls;
pub(crate) use parse::{Split, split};

use crate::collector::Collector;

/// A set of events, ready to be expanded.
#[derive(Debug)]
pub(crate) struct EventSet {
    pub(crate) ident: Ident,
    /// Empty in a set that is right.
    pub(crate) generics: Generics,
    pub(crate) entries: Vec<Entry>,
    pub(crate) splits: Vec<Split>,
    pub(crate) krate: TokenStream,
}

/// One variant and the event it holds.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) variant: Ident,
    pub(crate) ty: Type,
}

/// As the user wrote it; two spellings of one type count as two.
pub(crate) fn text(path: &impl ToTokens) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}

pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let errors = Collector::new();
    let set = errors.keep(syn::parse2(input)).map(|input| {
        let args = parse::args(&input, &errors);
        check::check(input, args, &errors)
    });
    let errors = errors.into_compile_errors();
    // A set that is wrong keeps what is right: uses elsewhere give no errors of their own.
    let impls = set.map(|set| impls(&set));
    quote!(#errors #impls)
}
