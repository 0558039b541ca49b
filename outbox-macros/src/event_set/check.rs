//! The rules for a set of events.

use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Fields, Ident, Type, Variant};

use super::{Entry, EventSet, parse::Args, text};
use crate::collector::Collector;

pub(super) fn check(input: DeriveInput, args: Args, errors: &Collector) -> EventSet {
    let mut entries: Vec<Entry> = Vec::new();
    match &input.data {
        Data::Enum(data) => {
            for variant in &data.variants {
                if let Some(entry) = entry(variant, errors)
                    && is_new(&entry.ty, &entries, errors)
                {
                    entries.push(entry);
                }
            }
        }
        Data::Struct(data) => errors.over(
            data.struct_token,
            "a set of events is an enum with one event per variant; a single event derives `DomainEvent` instead",
        ),
        Data::Union(data) => errors.over(data.union_token, "a set of events is an enum, not a union"),
    }
    if !input.generics.params.is_empty() {
        errors.over(&input.generics, "a set of events cannot be generic: each event it holds is one fixed type");
        // What the parameters stand for is not known, so the variants are left alone.
        entries.clear();
    }
    let mut splits = Vec::new();
    for split in args.splits {
        if entries.iter().any(|entry| same(&entry.ty, &split.old)) {
            errors.over(
                &split.old,
                format!("`{}` has a variant of its own, so it cannot be split too", text(&split.old)),
            );
        } else if splits.iter().any(|other: &super::Split| same(&other.old, &split.old)) {
            errors.over(&split.old, format!("`{}` is split twice", text(&split.old)));
        } else {
            splits.push(split);
        }
    }
    EventSet {
        ident: input.ident,
        generics: input.generics,
        entries,
        splits,
        krate: args.krate.map_or_else(|| quote!(::outbox_runtime), |path| path.to_token_stream()),
    }
}

fn entry(variant: &Variant, errors: &Collector) -> Option<Entry> {
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        errors.over(attribute, "`#[event(…)]` goes on the enum, not on a variant");
    }
    let ident = &variant.ident;
    let Fields::Unnamed(fields) = &variant.fields else {
        errors.over(variant, one_struct(ident));
        return None;
    };
    if let (Some(field), 1) = (fields.unnamed.first(), fields.unnamed.len()) {
        return Some(Entry { variant: ident.clone(), ty: field.ty.clone() });
    }
    errors.over(variant, one_struct(ident));
    None
}

fn one_struct(variant: &Ident) -> String {
    format!("a variant holds exactly one event struct, as in `{variant}({variant})`")
}

fn is_new(ty: &Type, entries: &[Entry], errors: &Collector) -> bool {
    match entries.iter().find(|entry| same(&entry.ty, ty)) {
        Some(first) => {
            let (ty_text, first) = (text(ty), &first.variant);
            errors.over(
                ty,
                format!("`{ty_text}` is the variant `{first}` already: a stored event is read as one of them"),
            );
            false
        }
        None => true,
    }
}

fn same(a: &impl ToTokens, b: &impl ToTokens) -> bool {
    text(a) == text(b)
}
