//! `#[event(type = "…", version = N, retired, crate = path)]` on a struct: tokens to typed keys.

use proc_macro2::Span;
use syn::{Attribute, DeriveInput, Lit, LitInt, LitStr, Path, spanned::Spanned as _};

use crate::{
    collector::Collector,
    keys::{self, Key, Once},
};

const KEYS: [&str; 4] = ["type", "version", "retired", "crate"];

/// The keys of the attribute, as written.
#[derive(Debug, Default)]
pub(super) struct Args {
    pub(super) ty: Option<LitStr>,
    pub(super) version: Option<LitInt>,
    pub(super) retired: bool,
    pub(super) krate: Option<Path>,
    /// Where the attribute stands and the keys it has, right or wrong; `None` without an attribute.
    pub(super) attribute: Option<(Span, Vec<&'static str>)>,
}

pub(super) fn args(input: &DeriveInput, errors: &Collector) -> Args {
    let mut attributes = input.attrs.iter().filter(|attribute| attribute.path().is_ident("event"));
    let args = attributes.next().map(|attribute| read(attribute, errors)).unwrap_or_default();
    for second in attributes {
        errors.over(second, "an event has one `#[event(…)]`: write all keys into the first one");
    }
    args
}

fn read(attribute: &Attribute, errors: &Collector) -> Args {
    let (mut ty, mut version, mut retired, mut krate) =
        (Once::default(), Once::default(), Once::default(), Once::default());
    let met = errors.keep(attribute.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        keys::each_key(input, &KEYS, errors, |key, input| {
            match key.name {
                "type" => ty.set(key, key.text(input, r#"type = "order.placed""#)?, errors),
                "version" => version.set(key, number(key, input)?, errors),
                "retired" => retired.set(key, key.flag(input)?, errors),
                _ => krate.set(key, key.path(input, "crate = path::to::outbox_runtime")?, errors),
            }
            Ok(())
        })
    }));
    Args {
        ty: ty.into_inner(),
        version: version.into_inner(),
        retired: retired.into_inner().is_some(),
        krate: krate.into_inner(),
        // An attribute that could not be read at all has been reported: nothing else is missing then.
        attribute: Some((attribute.path().span(), met.unwrap_or_else(|| KEYS.to_vec()))),
    }
}

fn number(key: &Key, input: syn::parse::ParseStream<'_>) -> syn::Result<LitInt> {
    key.equals(input, "version = 1")?;
    match input.parse() {
        Ok(Lit::Int(number)) => Ok(number),
        Ok(other) => Err(syn::Error::new(other.span(), "`version` is a whole number: `version = 1`")),
        Err(error) => Err(syn::Error::new(error.span(), "`version` is a whole number: `version = 1`")),
    }
}
