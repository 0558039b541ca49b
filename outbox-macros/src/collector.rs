//! Collects every mistake in the input, so that one compiler run shows them all.

use std::{cell::Cell, fmt::Display};

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far. It must be consumed by [`Collector::into_compile_errors`]: a collector that is
/// merely dropped would swallow mistakes.
pub(crate) struct Collector {
    found: Cell<Vec<syn::Error>>,
    consumed: bool,
}

impl Collector {
    pub(crate) fn new() -> Self {
        Self { found: Cell::default(), consumed: false }
    }

    /// A mistake that stretches over `tokens`.
    pub(crate) fn over(&self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// A mistake at `span`.
    pub(crate) fn at(&self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&self, error: syn::Error) {
        let mut found = self.found.take();
        found.push(error);
        self.found.set(found);
    }

    /// Keeps the value; a mistake is noted.
    pub(crate) fn keep<T>(&self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// One `compile_error!` per mistake, or `None` if there was no mistake.
    pub(crate) fn into_compile_errors(mut self) -> Option<TokenStream> {
        self.consumed = true;
        let found = self.found.take();
        (!found.is_empty()).then(|| found.iter().map(syn::Error::to_compile_error).collect())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        debug_assert!(
            self.consumed || std::thread::panicking(),
            "a collector of mistakes was dropped without being consumed"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mistake_gives_no_error() {
        assert!(Collector::new().into_compile_errors().is_none());
    }

    #[test]
    fn each_mistake_gives_its_own_error() {
        let errors = Collector::new();
        errors.at(Span::call_site(), "first");
        errors.at(Span::call_site(), "second");
        let tokens = errors.into_compile_errors().map(|tokens| tokens.to_string()).unwrap_or_default();
        assert_eq!(tokens.matches("compile_error").count(), 2);
    }

    #[test]
    #[should_panic(expected = "without being consumed")]
    fn a_forgotten_collector_is_a_bug() {
        drop(Collector::new());
    }
}
