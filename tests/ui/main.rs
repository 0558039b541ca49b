//! The messages for each mistake, one a file. They are compared word by word, so they hold for one compiler
//! version; `TRYBUILD=overwrite cargo test -p outbox-ui-tests` rewrites them.

use std::{fs, path::Path};

use outbox_runtime::{Aggregate, DecodeError, EventDescriptor, EventSet, RawEvent};
use outbox_ui_tests::{
    event_set::CustomerEvent, formerly::Member, nested::Cart, new_format_above::Order, reads::BillEvent,
};
use serde_json::{Value, json};

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}

/// A file that is not a module of the library would not be compiled at all.
#[test]
fn every_passing_file_is_compiled() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(here.join("lib.rs"))?;
    for entry in fs::read_dir(here.join("pass"))? {
        let name = entry?.file_name();
        let line = format!("#[path = \"pass/{}\"]", name.display());
        assert!(library.contains(&line), "{} is not in lib.rs", name.display());
    }
    Ok(())
}

fn raw(ty: &str, payload: Value) -> RawEvent {
    RawEvent::new(ty, 1, payload)
}

#[test]
fn sets_decode_what_they_hold() -> Result<(), DecodeError> {
    let moved = CustomerEvent::decode(&raw("customer.moved", json!({"address": "Rue 1"})))?;
    assert!(matches!(&moved[..], [CustomerEvent::Moved(moved)] if moved.address == "Rue 1"));
    let sent = BillEvent::decode(&raw("bill.sent", json!({})))?;
    assert!(matches!(&sent[..], [BillEvent::BillSent(_)]));
    let printed = BillEvent::decode(&raw("bill.printed", json!({})))?;
    assert!(matches!(&printed[..], [BillEvent::BillPrinted(_)]));
    Ok(())
}

#[test]
fn sets_refuse_what_they_do_not_hold() {
    let unknown = CustomerEvent::decode(&raw("bill.sent", json!({})));
    assert!(matches!(unknown, Err(DecodeError::UnknownType { ty }) if ty == "bill.sent"));
    let broken = CustomerEvent::decode(&raw("customer.moved", json!({"address": 5})));
    assert!(matches!(broken, Err(DecodeError::Payload { path, .. }) if path == "address"));
}

#[test]
fn splits_give_several_events_or_say_why_not() -> Result<(), DecodeError> {
    let details = |name| raw("customer.details_changed", json!({"name": name, "address": "Rue 1"}));
    let both = CustomerEvent::decode(&details("Ada"))?;
    assert!(matches!(&both[..], [CustomerEvent::Renamed(_), CustomerEvent::Moved(_)]));
    let failed = CustomerEvent::decode(&details(""));
    assert!(matches!(failed, Err(DecodeError::Upcast { ty: "customer.details_changed", from: 1, .. })));
    let closed = BillEvent::decode(&raw("bill.closed", json!({"was_sent": true})))?;
    assert!(matches!(&closed[..], [BillEvent::BillSettled(_)]));
    Ok(())
}

#[test]
fn roots_know_their_names() {
    assert_eq!((Order::NAME, Order::SEQUENCE_NAME), ("order", "order"));
    assert_eq!((Member::NAME, Member::SEQUENCE_NAME), ("member", "user"));
    assert_eq!(Cart::NAME, "cart");
}

#[test]
fn events_are_listed() {
    let find = |ty| EventDescriptor::all().find(|event| event.event_type == ty);
    let weighed = find("parcel.weighed-v1.kg_2");
    assert!(weighed.is_some_and(|event| event.retired
        && (event.oldest, event.newest) == (1, 1)
        && event.rust_path == "outbox_ui_tests::events::ParcelWeighed"
        && event.schemas().count() == 1));
    assert!(find("parcel.sent").is_some_and(|event| !event.retired));
}

#[test]
fn types_of_events_are_compared() {
    use outbox_runtime::__private::same_text;
    assert!(same_text("a.b", "a.b"));
    for (a, b) in [("a", "b"), ("a.b", "a.c"), ("a", "ab"), ("ab", "a"), ("", "a"), ("a", ""), ("", "")] {
        assert!(!same_text(a, b), "{a} {b}");
    }
}
