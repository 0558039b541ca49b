//! The item under the attribute. Of its body only the attributes are looked at: fields and derives belong to SeaORM.

use proc_macro2::{Ident, TokenStream};
use syn::{
    Attribute, ItemStruct, Meta, Path, Token, Visibility,
    ext::IdentExt as _,
    parse::{ParseStream, Parser as _},
    punctuated::Punctuated,
};

/// What SeaORM calls the struct of an entity.
pub(super) const ENTITY: &str = "Model";
/// What `#[sea_orm::model]` calls the twin of [`ENTITY`] that holds its relations.
pub(super) const TWIN: &str = "ModelEx";

/// The derives that make an entity of a struct.
const DERIVES: [&str; 3] = ["DeriveEntityModel", "DeriveModel", "DeriveActiveModel"];
/// The attribute macros that do so, under the path `sea_orm::` or imported.
const MODELS: [&str; 2] = ["model", "compact_model"];

/// The entity.
#[derive(Debug)]
pub(super) struct Entity {
    pub(super) vis: Visibility,
    pub(super) ident: Ident,
}

pub(super) fn read(item: TokenStream) -> syn::Result<Entity> {
    let may_be_an_entity = may_be_an_entity(item.clone());
    let parser = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let is_struct = input.peek(Token![struct]);
        let keyword = input.call(Ident::parse_any)?;
        let ident = if input.peek(syn::Ident) { input.parse()? } else { keyword };
        input.parse::<TokenStream>()?;
        if !is_struct || (ident != ENTITY && ident != TWIN) {
            let message = "`#[aggregate]` goes on a SeaORM entity struct, which is named `Model`";
            return Err(syn::Error::new(ident.span(), message));
        }
        if ident == ENTITY && !may_be_an_entity {
            let message = "`#[aggregate]` goes on a SeaORM entity: this `Model` has no `#[sea_orm(…)]` attribute and \
                           derives no entity. If a derive above `#[aggregate]` makes it one, put `#[aggregate]` above \
                           that derive";
            return Err(syn::Error::new(ident.span(), message));
        }
        Ok(Entity { vis, ident })
    };
    parser.parse2(item)
}

/// `false` if nothing on the struct or its fields is SeaORM's. A derive above `#[aggregate]` is gone by now, but
/// the attributes that it reads are still there. A struct that cannot be read is left to the compiler.
fn may_be_an_entity(item: TokenStream) -> bool {
    let Ok(item) = syn::parse2::<ItemStruct>(item) else { return true };
    let of_fields = item.fields.iter().flat_map(|field| &field.attrs);
    item.attrs.iter().chain(of_fields).any(|attribute| is_of_sea_orm(&attribute.meta))
}

fn is_of_sea_orm(meta: &Meta) -> bool {
    match meta {
        Meta::List(list) if last_is(&list.path, &["derive"]) => list
            .parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)
            .map_or(true, |derives| derives.iter().any(|derive| last_is(derive, &DERIVES))),
        // After its condition come attributes.
        Meta::List(list) if list.path.is_ident("cfg_attr") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .map_or(true, |metas| metas.iter().skip(1).any(is_of_sea_orm)),
        _ => {
            let path = meta.path();
            // `sea_orm(…)`, `sea_orm::model`, `sea_orm_model`, and `model` by itself.
            path.segments.iter().any(|segment| segment.ident.to_string().starts_with("sea_orm"))
                || last_is(path, &MODELS)
        }
    }
}

fn last_is(path: &Path, names: &[&str]) -> bool {
    path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use proc_macro2::{Delimiter, Group, TokenTree};
    use quote::quote;

    use super::*;

    fn shown(item: &str) -> bool {
        may_be_an_entity(item.parse().expect("tokens"))
    }

    #[test]
    fn what_an_entity_shows() {
        for item in [
            r#"#[sea_orm(table_name = "a")] struct Model { id: i64 }"#,
            "struct Model { #[sea_orm(primary_key)] id: i64 }",
            r#"struct Model { id: i64, #[cfg_attr(feature = "db", sea_orm(ignore))] name: String }"#,
            "#[sea_orm::model] struct Model { id: i64 }",
            "#[::sea_orm::compact_model] struct Model { id: i64 }",
            "#[model] struct Model { id: i64 }",
            "#[sea_orm_model] struct Model { id: i64 }",
            "#[derive(Clone, sea_orm::DeriveEntityModel)] struct Model { id: i64 }",
            "#[derive(Clone, DeriveModel, DeriveActiveModel,)] struct Model { id: i64 }",
            "#[cfg_attr(all(unix, test), derive(Debug), derive(DeriveActiveModel))] struct Model { id: i64 }",
            // Not a struct that can be read.
            "struct Model { id }",
        ] {
            assert!(shown(item), "{item}");
        }
    }

    #[test]
    fn what_is_no_entity() {
        for item in [
            "struct Model { id: i64 }",
            "struct Model;",
            r#"#[derive(Clone, FromQueryResult)] #[serde(rename_all = "camelCase")] struct Model { id: i64 }"#,
            r#"#[doc = "sea_orm"] struct Model { #[serde(default)] id: i64 }"#,
            r#"#[cfg_attr(feature = "sea_orm", derive(Debug))] struct Model { id: i64 }"#,
        ] {
            assert!(!shown(item), "{item}");
        }
    }

    /// As a macro by example hands on `#[$attribute]`.
    #[test]
    fn attributes_in_invisible_groups() {
        for (attribute, expected) in
            [(r#"sea_orm(table_name = "a")"#, true), ("derive(DeriveModel)", true), ("derive(Debug)", false)]
        {
            let tokens = attribute.parse().expect("tokens");
            let group = TokenTree::from(Group::new(Delimiter::None, tokens));
            let item = quote!(#[#group] struct Model { id: i64 });
            assert_eq!(may_be_an_entity(item), expected, "{attribute}");
        }
    }
}
