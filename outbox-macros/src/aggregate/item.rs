//! The item under the attribute. Only its name and visibility are read: fields and derives belong to SeaORM.

use proc_macro2::{Ident, TokenStream};
use syn::{
    Attribute, Token, Visibility,
    ext::IdentExt as _,
    parse::{ParseStream, Parser as _},
};

/// What SeaORM calls the struct of an entity.
pub(super) const ENTITY: &str = "Model";
/// What `#[sea_orm::model]` calls the twin of [`ENTITY`] that holds its relations.
pub(super) const TWIN: &str = "ModelEx";

/// The entity.
#[derive(Debug)]
pub(super) struct Entity {
    pub(super) vis: Visibility,
    pub(super) ident: Ident,
}

pub(super) fn read(item: TokenStream) -> syn::Result<Entity> {
    let parser = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let is_struct = input.peek(Token![struct]);
        let keyword = input.call(Ident::parse_any)?;
        let ident = if input.peek(syn::Ident) { input.parse()? } else { keyword };
        input.parse::<TokenStream>()?;
        if is_struct && (ident == ENTITY || ident == TWIN) {
            return Ok(Entity { vis, ident });
        }
        Err(syn::Error::new(ident.span(), "`#[aggregate]` goes on a SeaORM entity struct, which is named `Model`"))
    };
    parser.parse2(item)
}
