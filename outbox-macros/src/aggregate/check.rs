//! The rules for an aggregate.

use heck::ToUpperCamelCase as _;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::{Generics, Path, PathArguments, Type, TypePath, Visibility, ext::IdentExt as _};

use super::{
    item::Entity,
    parse::{Args, Read},
};
use crate::{
    collector::Collector,
    event_set::{Entry, EventSet, Split, text},
    names,
};

/// Names that SeaORM generates beside `Model`.
const TAKEN: [&str; 8] =
    ["Model", "ModelEx", "ActiveModel", "ActiveModelEx", "Entity", "Column", "PrimaryKey", "Relation"];

/// An aggregate, as far as it is right.
#[derive(Debug)]
pub(super) struct Aggregate {
    pub(super) vis: Visibility,
    pub(super) root: Ident,
    pub(super) name: String,
    pub(super) sequence_name: String,
    pub(super) events: Vec<Path>,
    /// The enum of all events, unless there are none.
    pub(super) set: Option<EventSet>,
    pub(super) row: RowKind,
    pub(super) krate: TokenStream,
}

/// What the root derefs to, and how it is written.
#[derive(Debug)]
pub(super) enum RowKind {
    Plain,
    Versioned { field: Ident, column: Ident },
    Nested,
}

/// `None` if there is no name for the root.
pub(super) fn check(entity: Entity, args: Args, errors: &Collector) -> Option<Aggregate> {
    presence(&args, errors);
    check_names(&args, errors);
    let root_is_free = check_root(args.root.as_ref(), errors);
    let row = row_kind(&args, errors);
    let krate = args.krate.map_or_else(|| quote!(::outbox_runtime), |path| path.to_token_stream());
    let root = args.root.filter(|_| root_is_free)?;
    let mut seen = Seen { enum_name: format_ident!("{root}Event"), entries: Vec::new(), splits: Vec::new() };
    let mut events = Vec::new();
    for path in args.events {
        if seen.add(&path, "events", errors) {
            events.push(path);
        }
    }
    for read in args.reads {
        match read {
            Read::AsItIs(path) => drop(seen.add(&path, "reads", errors)),
            Read::Split(split) => seen.add_split(split, errors),
        }
    }
    let name = args.name.map(|name| name.value()).unwrap_or_default();
    Some(Aggregate {
        vis: entity.vis,
        root,
        sequence_name: args.formerly.map_or_else(|| name.clone(), |formerly| formerly.value()),
        name,
        events,
        set: seen.into_set(&krate),
        row,
        krate,
    })
}

fn presence(args: &Args, errors: &Collector) {
    if !args.met.contains(&"root") {
        errors.at(Span::call_site(), "`root` is missing, the name of the type to generate: `root = Order`");
    }
    if !args.met.contains(&"name") {
        let message =
            "`name` is missing, the name under which the aggregate is stored in every event: `name = \"order\"`";
        errors.at(Span::call_site(), message);
    }
}

/// `false` if SeaORM has the name already.
fn check_root(root: Option<&Ident>, errors: &Collector) -> bool {
    let Some(root) = root.filter(|root| TAKEN.iter().any(|taken| *root == taken)) else { return true };
    errors.over(root, format!("`root` is the name of a new type, and SeaORM calls another one `{root}` already"));
    false
}

fn check_names(args: &Args, errors: &Collector) {
    for name in args.name.iter().chain(&args.formerly) {
        names::check_aggregate_name(name, errors);
    }
    if let (Some(name), Some(formerly)) = (&args.name, &args.formerly)
        && name.value() == formerly.value()
    {
        errors.over(
            formerly,
            "`formerly` is the name before a renaming, so it differs from `name`: change it or leave it out",
        );
    }
}

fn row_kind(args: &Args, errors: &Collector) -> RowKind {
    let kind = if args.nested { RowKind::Nested } else { RowKind::Plain };
    let Some(field) = &args.version else { return kind };
    if args.nested {
        errors.over(
            field,
            "`version` cannot be checked where `nested` saves children: leave it out and load with a lock, which `nested` roots do",
        );
        return kind;
    }
    // SeaORM's own rule for the name of a column's variant.
    let column = syn::parse_str::<Ident>(&field.unraw().to_string().to_upper_camel_case());
    if let Ok(mut column) = column {
        column.set_span(field.span());
        return RowKind::Versioned { field: field.clone(), column };
    }
    errors.over(field, format!("`{field}` cannot be a column of an entity"));
    kind
}

/// The events met so far.
struct Seen {
    enum_name: Ident,
    entries: Vec<(Entry, String, &'static str)>,
    splits: Vec<(Split, String)>,
}

impl Seen {
    /// `true` if the event may stand here.
    fn add(&mut self, path: &Path, list: &'static str, errors: &Collector) -> bool {
        let Some(segment) = path.segments.last().filter(|segment| matches!(segment.arguments, PathArguments::None))
        else {
            errors.over(path, "an event has no type parameters: its schema must be one fixed schema");
            return false;
        };
        let (text, variant) = (text(path), segment.ident.clone());
        if let Some((.., first)) = self.entries.iter().find(|(_, other, _)| *other == text) {
            errors.over(
                path,
                match *first {
                    "events" if list == "reads" => {
                        format!("`{text}` is in `events` already, and what is emitted is read too")
                    }
                    first => format!("`{text}` is in `{first}` already"),
                },
            );
            return false;
        }
        if let Some((_, other, _)) = self.entries.iter().find(|(entry, ..)| entry.variant == variant) {
            let set = &self.enum_name;
            errors.over(
                path,
                format!(
                    "`{other}` and `{text}` would both be the variant `{variant}` of `{set}`: \
                     import one of them under another name, `use … as …;`, and list that"
                ),
            );
            return false;
        }
        let ty = Type::Path(TypePath { attrs: Vec::new(), qself: None, path: path.clone() });
        self.entries.push((Entry { variant, ty }, text, list));
        true
    }

    fn add_split(&mut self, split: Split, errors: &Collector) {
        let text = text(&split.old);
        if let Some((.., list)) = self.entries.iter().find(|(_, other, _)| *other == text) {
            errors.over(&split.old, format!("`{text}` is in `{list}` as it is, so it cannot be split too"));
        } else if self.splits.iter().any(|(_, other)| *other == text) {
            errors.over(&split.old, format!("`{text}` is split twice"));
        } else {
            self.splits.push((split, text));
        }
    }

    fn into_set(self, krate: &TokenStream) -> Option<EventSet> {
        (!self.entries.is_empty() || !self.splits.is_empty()).then(|| EventSet {
            ident: self.enum_name,
            generics: Generics::default(),
            entries: self.entries.into_iter().map(|(entry, ..)| entry).collect(),
            splits: self.splits.into_iter().map(|(split, _)| split).collect(),
            krate: krate.clone(),
        })
    }
}
