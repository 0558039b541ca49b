#[automatically_derived]
impl ::outbox_runtime::Payload for CustomerRenamed {
    const TYPE: &'static str = "customer.renamed";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
#[automatically_derived]
impl ::outbox_runtime::DomainEvent for CustomerRenamed {}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "customer.renamed", oldest : 1,
    newest : 1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(CustomerRenamed)), retired : false, schemas : &
    [::outbox_runtime::__private::schema_of:: < CustomerRenamed >], }
}
#[automatically_derived]
impl ::outbox_runtime::Payload for CustomerMoved {
    const TYPE: &'static str = "customer.moved";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
#[automatically_derived]
impl ::outbox_runtime::DomainEvent for CustomerMoved {}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "customer.moved", oldest : 1, newest
    : 1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(CustomerMoved)), retired : false, schemas : &
    [::outbox_runtime::__private::schema_of:: < CustomerMoved >], }
}
#[automatically_derived]
impl ::outbox_runtime::Payload for CustomerDetailsChanged {
    const TYPE: &'static str = "customer.details_changed";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "customer.details_changed", oldest :
    1, newest : 1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(CustomerDetailsChanged)), retired : true, schemas : &
    [::outbox_runtime::__private::schema_of:: < CustomerDetailsChanged >], }
}
#[automatically_derived]
impl ::outbox_runtime::EventSet for CustomerEvent {
    fn decode(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<::std::vec::Vec<Self>, ::outbox_runtime::DecodeError> {
        if raw.ty == <CustomerRenamed as ::outbox_runtime::Payload>::TYPE {
            return <CustomerRenamed as ::outbox_runtime::Payload>::load(raw)
                .map(|event| ::std::vec::Vec::from([Self::Renamed(event)]));
        }
        if raw.ty == <CustomerMoved as ::outbox_runtime::Payload>::TYPE {
            return <CustomerMoved as ::outbox_runtime::Payload>::load(raw)
                .map(|event| ::std::vec::Vec::from([Self::Moved(event)]));
        }
        if raw.ty == <CustomerDetailsChanged as ::outbox_runtime::Payload>::TYPE {
            let split: fn(
                CustomerDetailsChanged,
                &::outbox_runtime::EventContext,
            ) -> ::core::result::Result<
                ::std::vec::Vec<Self>,
                ::outbox_runtime::BoxError,
            > = split_details;
            return split(
                    <CustomerDetailsChanged as ::outbox_runtime::Payload>::load(raw)?,
                    &raw.context,
                )
                .map_err(|source| {
                    ::outbox_runtime::DecodeError::Upcast {
                        ty: <CustomerDetailsChanged as ::outbox_runtime::Payload>::TYPE,
                        from: raw.version,
                        source,
                    }
                });
        }
        ::core::result::Result::Err(::outbox_runtime::DecodeError::UnknownType {
            ty: ::core::clone::Clone::clone(&raw.ty),
        })
    }
}
#[automatically_derived]
impl ::core::convert::From<CustomerRenamed> for CustomerEvent {
    fn from(event: CustomerRenamed) -> Self {
        Self::Renamed(event)
    }
}
#[automatically_derived]
impl ::core::convert::From<CustomerMoved> for CustomerEvent {
    fn from(event: CustomerMoved) -> Self {
        Self::Moved(event)
    }
}
const _: () = {
    ::core::assert!(
        ! ::outbox_runtime::__private::same_text(< CustomerRenamed as
        ::outbox_runtime::Payload > ::TYPE, < CustomerMoved as ::outbox_runtime::Payload
        > ::TYPE),
        "`CustomerRenamed` and `CustomerMoved` have the same `type`, and a stored event of that type is read as one of them: keep one of them in this set, or give the event that was never stored a `type` of its own"
    );
};
const _: () = {
    ::core::assert!(
        ! ::outbox_runtime::__private::same_text(< CustomerRenamed as
        ::outbox_runtime::Payload > ::TYPE, < CustomerDetailsChanged as
        ::outbox_runtime::Payload > ::TYPE),
        "`CustomerRenamed` and `CustomerDetailsChanged` have the same `type`, and a stored event of that type is read as one of them: keep one of them in this set, or give the event that was never stored a `type` of its own"
    );
    ::core::assert!(
        ! ::outbox_runtime::__private::same_text(< CustomerMoved as
        ::outbox_runtime::Payload > ::TYPE, < CustomerDetailsChanged as
        ::outbox_runtime::Payload > ::TYPE),
        "`CustomerMoved` and `CustomerDetailsChanged` have the same `type`, and a stored event of that type is read as one of them: keep one of them in this set, or give the event that was never stored a `type` of its own"
    );
};
#[automatically_derived]
impl ::outbox_runtime::EventSet for OnlyMoves {
    fn decode(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<::std::vec::Vec<Self>, ::outbox_runtime::DecodeError> {
        if raw.ty == <CustomerMoved as ::outbox_runtime::Payload>::TYPE {
            return <CustomerMoved as ::outbox_runtime::Payload>::load(raw)
                .map(|event| ::std::vec::Vec::from([Self::Moved(event)]));
        }
        ::core::result::Result::Err(::outbox_runtime::DecodeError::UnknownType {
            ty: ::core::clone::Clone::clone(&raw.ty),
        })
    }
}
#[automatically_derived]
impl ::core::convert::From<CustomerMoved> for OnlyMoves {
    fn from(event: CustomerMoved) -> Self {
        Self::Moved(event)
    }
}
#[automatically_derived]
impl ::outbox_runtime::EventSet for Nothing {
    fn decode(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<::std::vec::Vec<Self>, ::outbox_runtime::DecodeError> {
        ::core::result::Result::Err(::outbox_runtime::DecodeError::UnknownType {
            ty: ::core::clone::Clone::clone(&raw.ty),
        })
    }
}
