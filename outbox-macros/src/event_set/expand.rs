//! The impls of a set of events.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{Entry, EventSet, Split};

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
    }
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
