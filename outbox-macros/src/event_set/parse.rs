//! `#[event(split(Old, with = path), crate = path)]` on an enum: tokens to typed keys.

use syn::{DeriveInput, Path, Token, parse::ParseStream};

use crate::{
    collector::Collector,
    keys::{self, Once},
};

/// The form of a split, for messages.
const SPLIT: &str = "split(Old, with = path)";

/// `split(Old, with = path)`: a stored `old` is read as what `with` makes of it.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) old: Path,
    pub(crate) with: Path,
}

/// The keys of the attribute, as written.
#[derive(Debug, Default)]
pub(super) struct Args {
    pub(super) splits: Vec<Split>,
    pub(super) krate: Option<Path>,
}

pub(super) fn args(input: &DeriveInput, errors: &Collector) -> Args {
    let (mut splits, mut krate) = (Vec::new(), Once::default());
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        errors.keep(attribute.parse_args_with(|input: ParseStream<'_>| {
            keys::each_key(input, &["split", "crate"], errors, |key, input| {
                match key.name {
                    "split" => splits.push(key.list(input, SPLIT, split)?),
                    _ => krate.set(key, key.path(input, "crate = path::to::outbox_runtime")?, errors),
                }
                Ok(())
            })
        }));
    }
    Args { splits, krate: krate.into_inner() }
}

/// Reads what stands inside the parentheses of a split.
pub(crate) fn split(input: ParseStream<'_>) -> syn::Result<Split> {
    let wanted = format!("a split names the old event and a function: `{SPLIT}`");
    let old = keys::path(input, &wanted)?;
    if !input.peek(Token![,]) {
        return Err(input.error(wanted));
    }
    input.parse::<Token![,]>()?;
    let with: syn::Ident = input.parse().map_err(|error| syn::Error::new(error.span(), &wanted))?;
    if with != "with" {
        return Err(syn::Error::new(with.span(), format!("unknown key `{with}`: expected `with`, as in `{SPLIT}`")));
    }
    let with = keys::Key { name: "with", span: with.span() }.path(input, "with = path")?;
    if input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
    }
    if !input.is_empty() {
        return Err(input.error(wanted));
    }
    Ok(Split { old, with })
}
