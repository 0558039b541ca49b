#[automatically_derived]
impl ::outbox_runtime::Payload for DoorOpened {
    const TYPE: &'static str = "door.opened";
    const VERSION: u16 = 1u16;
    fn load(
        raw: &::outbox_runtime::RawEvent,
    ) -> ::core::result::Result<Self, ::outbox_runtime::DecodeError> {
        ::outbox_runtime::__private::parse(raw)
    }
}
#[automatically_derived]
impl ::outbox_runtime::DomainEvent for DoorOpened {}
::outbox_runtime::__private::inventory::submit! {
    ::outbox_runtime::EventDescriptor { event_type : "door.opened", oldest : 1, newest :
    1u16, rust_path : ::core::concat!(::core::module_path!(), "::",
    ::core::stringify!(DoorOpened)), retired : false, schemas : &
    [::outbox_runtime::__private::schema_of:: < DoorOpened >], }
}
