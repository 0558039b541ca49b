//! `#[aggregate(…)]`.

mod check;
mod expand;
mod item;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

use crate::collector::Collector;

pub(crate) fn attribute(args: TokenStream, item: &TokenStream) -> TokenStream {
    let errors = Collector::new();
    let generated = match item::read(item.clone()) {
        // Below `#[sea_orm::model]` the attribute is copied to this twin of `Model`.
        Ok(entity) if entity.ident == item::TWIN => None,
        Ok(entity) => {
            let args = parse::args(args, &errors);
            // A root that is wrong keeps what is right: uses elsewhere give no errors of their own.
            check::check(entity, args, &errors).map(|aggregate| expand::aggregate(&aggregate))
        }
        Err(error) => {
            errors.add(error);
            None
        }
    };
    let errors = errors.into_compile_errors();
    quote!(#item #errors #generated)
}
