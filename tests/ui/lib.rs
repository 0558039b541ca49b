//! What the macros accept: each file of `pass/` is compiled as a module of this crate, and the files of `fail/`
//! use some of them. The same files are the inputs of the snapshots of generated code.

#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "the entities show a shape and nothing else; `strict_lints` is strict"
)]

#[path = "pass/crate_override.rs"]
pub mod crate_override;
#[path = "pass/enum_key.rs"]
pub mod enum_key;
#[path = "pass/event_set.rs"]
pub mod event_set;
#[path = "pass/events.rs"]
pub mod events;
#[path = "pass/expanded_format.rs"]
pub mod expanded_format;
#[path = "pass/formerly.rs"]
pub mod formerly;
#[path = "pass/inside_a_macro.rs"]
pub mod inside_a_macro;
#[path = "pass/nested.rs"]
pub mod nested;
#[path = "pass/new_format_above.rs"]
pub mod new_format_above;
#[path = "pass/new_format_below.rs"]
pub mod new_format_below;
#[path = "pass/newtype_key.rs"]
pub mod newtype_key;
#[path = "pass/no_events.rs"]
pub mod no_events;
#[path = "pass/old_format_derive_above.rs"]
pub mod old_format_derive_above;
#[path = "pass/old_format_derive_below.rs"]
pub mod old_format_derive_below;
#[path = "pass/private_visibility.rs"]
pub mod private_visibility;
#[path = "pass/reads.rs"]
pub mod reads;
#[path = "pass/shadowed_names.rs"]
pub mod shadowed_names;
#[path = "pass/strict_lints.rs"]
pub mod strict_lints;
#[path = "pass/string_key.rs"]
pub mod string_key;
#[path = "pass/version.rs"]
pub mod version;
