#[automatically_derived]
impl ::outbox_runtime::Payload for ParcelSent {
    const TYPE: &'static str = "parcel.sent";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
#[automatically_derived]
impl ::outbox_runtime::DomainEvent for ParcelSent {}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "parcel.sent", oldest : 1, newest :
    1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(ParcelSent)), retired : false, schemas : &
    [::outbox_runtime::__private::schema_of:: < ParcelSent >], }
}
#[automatically_derived]
impl ::outbox_runtime::Payload for ParcelLost {
    const TYPE: &'static str = "parcel.lost";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
#[automatically_derived]
impl ::outbox_runtime::DomainEvent for ParcelLost {}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "parcel.lost", oldest : 1, newest :
    1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(ParcelLost)), retired : false, schemas : &
    [::outbox_runtime::__private::schema_of:: < ParcelLost >], }
}
#[automatically_derived]
impl ::outbox_runtime::Payload for ParcelWeighed {
    const TYPE: &'static str = "parcel.weighed-v1.kg_2";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "parcel.weighed-v1.kg_2", oldest :
    1, newest : 1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(ParcelWeighed)), retired : true, schemas : &
    [::outbox_runtime::__private::schema_of:: < ParcelWeighed >], }
}
#[automatically_derived]
impl ::outbox_runtime::Payload for ParcelScanned {
    const TYPE: &'static str = "parcel.scanned";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
#[automatically_derived]
impl ::outbox_runtime::DomainEvent for ParcelScanned {}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "parcel.scanned", oldest : 1, newest
    : 1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(ParcelScanned)), retired : false, schemas : &
    [::outbox_runtime::__private::schema_of:: < ParcelScanned >], }
}
