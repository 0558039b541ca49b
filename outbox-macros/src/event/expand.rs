//! The impls of an event.

use proc_macro2::TokenStream;
use quote::quote;

use super::check::Event;

pub(super) fn event(event: &Event) -> TokenStream {
    let Event { ident, ty, version, retired, krate, .. } = event;
    let may_be_emitted = (!retired).then(|| {
        quote! {
            #[automatically_derived]
            impl #krate::DomainEvent for #ident {}
        }
    });
    quote! {
        #[automatically_derived]
        impl #krate::Payload for #ident {
            const TYPE: &'static str = #ty;
            const VERSION: u16 = #version;
            fn load(raw: &#krate::RawEvent) -> ::core::result::Result<Self, #krate::DecodeError> {
                #krate::__private::parse(raw)
            }
        }
        #may_be_emitted
        #krate::__private::inventory::submit! {
            #krate::EventDescriptor {
                event_type: #ty,
                oldest: 1,
                newest: #version,
                rust_path: ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#ident)),
                retired: #retired,
                schemas: &[#krate::__private::schema_of::<#ident>],
            }
        }
    }
}

/// The same traits for an event that is wrong, so that its uses elsewhere give no errors of their own.
pub(super) fn fallback(event: &Event) -> TokenStream {
    let Event { ident, generics, is_union, ty, version, krate, .. } = event;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let payload = quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Payload for #ident #ty_generics #where_clause {
            const TYPE: &'static str = #ty;
            const VERSION: u16 = #version;
            fn load(raw: &#krate::RawEvent) -> ::core::result::Result<Self, #krate::DecodeError> {
                ::core::result::Result::Err(#krate::DecodeError::UnknownType {
                    ty: ::core::clone::Clone::clone(&raw.ty),
                })
            }
        }
    };
    // What a type parameter would have to implement is not known, so a generic event stays without.
    let may_be_emitted = (generics.params.is_empty() && !is_union).then(|| {
        quote! {
            #[automatically_derived]
            impl #krate::DomainEvent for #ident {}
        }
    });
    quote!(#payload #may_be_emitted)
}
