//! The rules for an event.

use heck::ToSnakeCase as _;
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Ident, LitInt};

use super::parse::Args;
use crate::{collector::Collector, names};

/// An event, as far as it is right.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) ident: Ident,
    /// Empty in an event that is right.
    pub(super) generics: Generics,
    /// What serde and schemars cannot derive for cannot be emitted either.
    pub(super) is_union: bool,
    pub(super) ty: String,
    pub(super) version: u16,
    pub(super) retired: bool,
    pub(super) krate: TokenStream,
}

pub(super) fn check(input: DeriveInput, args: Args, errors: &Collector) -> Event {
    shape(&input, errors);
    for changed in input.attrs.iter().filter(|attribute| attribute.path().is_ident("changed")) {
        errors.over(
            changed,
            "this release knows only version 1 of an event, so there is no change to describe: remove this line",
        );
    }
    presence(&input.ident, &args, errors);
    if let Some(ty) = &args.ty {
        names::check_event_type(ty, errors);
    }
    if let Some(version) = &args.version {
        check_version(version, errors);
    }
    Event {
        is_union: matches!(input.data, Data::Union(_)),
        ident: input.ident,
        generics: input.generics,
        ty: args.ty.map(|ty| ty.value()).unwrap_or_default(),
        version: 1,
        retired: args.retired,
        krate: args.krate.map_or_else(|| quote!(::outbox_runtime), |path| path.to_token_stream()),
    }
}

fn shape(input: &DeriveInput, errors: &Collector) {
    let ident = &input.ident;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().for_each(|field| stray(&field.attrs, errors)),
            Fields::Unnamed(fields) => errors.over(
                fields,
                format!("an event has named fields, so that one can be added later: `struct {ident} {{ … }}`"),
            ),
            Fields::Unit => errors.over(ident, format!("an event without fields is written `struct {ident} {{}}`")),
        },
        Data::Enum(data) => errors.over(
            data.enum_token,
            "an event is a struct with named fields; an enum of events derives `EventSet` instead",
        ),
        Data::Union(data) => errors.over(data.union_token, "an event is a struct with named fields, not a union"),
    }
    if !input.generics.params.is_empty() {
        errors.over(&input.generics, "an event cannot be generic: its schema must be one fixed schema");
    }
}

fn stray(attributes: &[Attribute], errors: &Collector) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident("event") || a.path().is_ident("changed")) {
        errors.over(attribute, "this attribute goes on the struct, not on a field");
    }
}

fn presence(ident: &Ident, args: &Args, errors: &Collector) {
    // `OrderPlaced` → `order.placed`: the usual form, ready to be pasted.
    let usual = ident.to_string().to_snake_case().replacen('_', ".", 1);
    let Some((span, met)) = &args.attribute else {
        errors.over(
            ident,
            format!("`{ident}` needs a wire name and a version: `#[event(type = \"{usual}\", version = 1)]`"),
        );
        return;
    };
    if !met.contains(&"type") {
        errors.at(*span, format!("`type` is missing, the name under which `{ident}` is stored: `type = \"{usual}\"`"));
    }
    if !met.contains(&"version") {
        errors.at(*span, format!("`version` is missing, the version of the shape of `{ident}`: `version = 1`"));
    }
}

fn check_version(version: &LitInt, errors: &Collector) {
    match version.base10_parse::<u16>() {
        Ok(1) => {}
        Ok(0) => errors.over(version, "versions are counted from 1"),
        Ok(_) => errors.over(
            version,
            "a version above 1 needs a changelog that leads to it, which this release does not have yet: `version = 1`",
        ),
        Err(_) => errors.over(version, "a version is a whole number from 1 to 65535"),
    }
}
