//! The impls of a set of events.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{Entry, EventSet, Split, text};

pub(crate) fn impls(set: &EventSet) -> TokenStream {
    let EventSet { ident, generics, entries, splits, krate } = set;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let loads = entries.iter().map(|Entry { variant, ty }| {
        quote! {
            if raw.ty == <#ty as #krate::Payload>::TYPE {
                return <#ty as #krate::Payload>::load(raw)
                    .map(|event| ::std::vec::Vec::from([Self::#variant(event)]));
            }
        }
    });
    let splits = splits.iter().map(|split| split_arm(split, krate));
    let distinct = distinct(set);
    let froms = entries.iter().map(|Entry { variant, ty }| {
        quote! {
            #[automatically_derived]
            impl #impl_generics ::core::convert::From<#ty> for #ident #ty_generics #where_clause {
                fn from(event: #ty) -> Self {
                    Self::#variant(event)
                }
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::EventSet for #ident #ty_generics #where_clause {
            fn decode(
                raw: &#krate::RawEvent,
            ) -> ::core::result::Result<::std::vec::Vec<Self>, #krate::DecodeError> {
                #(#loads)*
                #(#splits)*
                ::core::result::Result::Err(#krate::DecodeError::UnknownType {
                    ty: ::core::clone::Clone::clone(&raw.ty),
                })
            }
        }
        #(#froms)*
        #distinct
    }
}

/// The types of events are known to the compiler only, so it is the compiler that finds two of the same type.
fn distinct(set: &EventSet) -> TokenStream {
    let EventSet { generics, entries, splits, krate, .. } = set;
    if !generics.params.is_empty() {
        return TokenStream::new();
    }
    let entries = entries.iter().map(|entry| entry.ty.to_token_stream());
    let paths: Vec<_> = entries.chain(splits.iter().map(|split| split.old.to_token_stream())).collect();
    let mut all = TokenStream::new();
    for (index, second) in paths.iter().enumerate().skip(1) {
        let asserts = paths.iter().take(index).map(|first| differ(first, second, krate));
        // One constant for each event: it is refused once, however many others have its type.
        all.extend(quote!(const _: () = { #(#asserts)* };));
    }
    all
}

fn differ(first: &TokenStream, second: &TokenStream, krate: &TokenStream) -> TokenStream {
    let message = format!(
        "`{}` and `{}` have the same `type`, and a stored event of that type is read as one of them: \
         keep one of them in this set, or give the event that was never stored a `type` of its own",
        text(first),
        text(second),
    );
    let mut condition = Group::new(
        Delimiter::Parenthesis,
        quote! {
            !#krate::__private::same_text(
                <#first as #krate::Payload>::TYPE,
                <#second as #krate::Payload>::TYPE
            ),
            #message
        },
    );
    // From the first token of the path to its last one: that is where the compiler reports it.
    let spans = || second.clone().into_iter().map(|token| Span::call_site().located_at(token.span()));
    let start = spans().next().unwrap_or_else(Span::call_site);
    condition.set_span(spans().last().unwrap_or_else(Span::call_site));
    quote_spanned!(start=> ::core::assert! #condition;)
}

fn split_arm(Split { old, with }: &Split, krate: &TokenStream) -> TokenStream {
    // Bound to a typed pointer and not called at once: a wrong signature is one error, and it is at the path.
    let at = proc_macro2::Span::call_site().located_at(with.span());
    let bound = quote_spanned! {at=>
        let split: fn(
            #old,
            &#krate::EventContext,
        ) -> ::core::result::Result<::std::vec::Vec<Self>, #krate::BoxError> = #with;
    };
    quote! {
        if raw.ty == <#old as #krate::Payload>::TYPE {
            #bound
            return split(<#old as #krate::Payload>::load(raw)?, &raw.context).map_err(|source| {
                #krate::DecodeError::Upcast {
                    ty: <#old as #krate::Payload>::TYPE,
                    from: raw.version,
                    source,
                }
            });
        }
    }
}
