//! `#[aggregate(root = …, name = "…", events(…), …)]`: tokens to typed keys.

use proc_macro2::{Ident, TokenStream};
use syn::{
    LitStr, Path,
    parse::{ParseStream, Parser as _},
};

use crate::{
    collector::Collector,
    event_set::{self, Split},
    keys::{self, Once},
};

const KEYS: [&str; 8] = ["root", "name", "events", "reads", "version", "formerly", "nested", "crate"];
const EVENTS: &str = "events(OrderPlaced, OrderPaid)";
const READS: &str = "reads(OldEvent, split(OlderEvent, with = path))";

/// The keys of the attribute, as written.
#[derive(Debug, Default)]
pub(super) struct Args {
    pub(super) root: Option<Ident>,
    pub(super) name: Option<LitStr>,
    pub(super) events: Vec<Path>,
    pub(super) reads: Vec<Read>,
    pub(super) version: Option<Ident>,
    pub(super) formerly: Option<LitStr>,
    pub(super) nested: bool,
    pub(super) krate: Option<Path>,
    /// The keys that were written, with a right value or a wrong one.
    pub(super) met: Vec<&'static str>,
}

/// One item of `reads(…)`.
#[derive(Debug)]
pub(super) enum Read {
    AsItIs(Path),
    Split(Split),
}

pub(super) fn args(tokens: TokenStream, errors: &Collector) -> Args {
    let (mut root, mut name, mut events, mut reads) =
        (Once::default(), Once::default(), Once::default(), Once::default());
    let (mut version, mut formerly, mut nested, mut krate) =
        (Once::default(), Once::default(), Once::default(), Once::default());
    let parser = |input: ParseStream<'_>| {
        keys::each_key(input, &KEYS, errors, |key, input| {
            match key.name {
                "root" => root.set(key, key.ident(input, "root = Order")?, errors),
                "name" => name.set(key, key.text(input, r#"name = "order""#)?, errors),
                "events" => events.set(key, key.list(input, EVENTS, |list| event_list(list, errors))?, errors),
                "reads" => reads.set(key, key.list(input, READS, |list| read_list(list, errors))?, errors),
                "version" => version.set(key, key.ident(input, "version = column")?, errors),
                "formerly" => formerly.set(key, key.text(input, r#"formerly = "old_name""#)?, errors),
                "nested" => nested.set(key, key.flag(input)?, errors),
                _ => krate.set(key, key.path(input, "crate = path::to::outbox_runtime")?, errors),
            }
            Ok(())
        })
    };
    let met = errors.keep(parser.parse2(tokens));
    Args {
        root: root.into_inner(),
        name: name.into_inner(),
        events: events.into_inner().unwrap_or_default(),
        reads: reads.into_inner().unwrap_or_default(),
        version: version.into_inner(),
        formerly: formerly.into_inner(),
        nested: nested.into_inner().is_some(),
        krate: krate.into_inner(),
        // An attribute that could not be read at all has been reported: nothing else is missing then.
        met: met.unwrap_or_else(|| KEYS.to_vec()),
    }
}

fn event_list(list: ParseStream<'_>, errors: &Collector) -> syn::Result<Vec<Path>> {
    let mut events = Vec::new();
    keys::each_item(list, errors, |item| {
        if item.peek(syn::Ident) && item.peek2(syn::token::Paren) {
            return Err(item.error(format!("`events` lists events by path: `{EVENTS}`; a split goes into `{READS}`")));
        }
        events.push(keys::path(item, &format!("an event is named by its path: `{EVENTS}`"))?);
        Ok(())
    })?;
    Ok(events)
}

fn read_list(list: ParseStream<'_>, errors: &Collector) -> syn::Result<Vec<Read>> {
    let mut reads = Vec::new();
    keys::each_item(list, errors, |item| {
        if item.peek(syn::Ident) && item.peek2(syn::token::Paren) {
            reads.push(Read::Split(call(item)?));
        } else {
            reads.push(Read::AsItIs(keys::path(item, &format!("an event is named by its path: `{READS}`"))?));
        }
        Ok(())
    })?;
    Ok(reads)
}

/// Reads `split(Old, with = path)`.
fn call(item: ParseStream<'_>) -> syn::Result<Split> {
    let name: Ident = item.parse()?;
    if name != "split" {
        let message = format!("unknown key `{name}`: expected an event or `split`, as in `{READS}`");
        return Err(syn::Error::new(name.span(), message));
    }
    keys::parenthesized(item, event_set::split)
}
