//! How the row is written and deleted: `Aggregate::__write` and `__delete`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::super::check::{Aggregate, RowKind};

pub(super) fn write(aggregate: &Aggregate) -> TokenStream {
    let krate = &aggregate.krate;
    let (write, delete) = match &aggregate.row {
        RowKind::Plain => (
            quote!(#krate::__private::write_row(row, write, tx).await),
            quote!(#krate::__private::delete_row(row, tx).await),
        ),
        RowKind::Versioned { field, column } => versioned(krate, field, column),
        RowKind::Nested => nested(krate),
    };
    quote! {
        async fn __write(
            row: Self::Row,
            write: #krate::__private::Write,
            tx: &#krate::__private::DatabaseTransaction,
        ) -> ::core::result::Result<(Self::Row, Self::Model), #krate::__private::WriteError> {
            #write
        }
        async fn __delete(
            row: Self::Row,
            tx: &#krate::__private::DatabaseTransaction,
        ) -> ::core::result::Result<u64, #krate::__private::WriteError> {
            #delete
        }
    }
}

fn versioned(krate: &TokenStream, field: &Ident, column: &Ident) -> (TokenStream, TokenStream) {
    // Located at the user's column, so that a column that cannot count is an error there.
    let at = Span::call_site().located_at(field.span());
    let raised = quote_spanned!(at=> &mut row.#field);
    let read = quote_spanned!(at=> &row.#field);
    let unchanged = quote!(<Column as #krate::__private::ColumnTrait>::eq(&Column::#column, expected));
    let write = quote! {
        let mut row = row;
        let expected = #krate::__private::next_version(#raised, write)?;
        #krate::__private::write_versioned_row(row, write, #unchanged, tx).await
    };
    let delete = quote! {
        let expected = #krate::__private::current_version(#read)?;
        #krate::__private::delete_versioned_row(row, #unchanged, tx).await
    };
    (write, delete)
}

fn nested(krate: &TokenStream) -> (TokenStream, TokenStream) {
    let write = quote! {
        let saved: ModelEx = match write {
            #krate::__private::Write::Insert => row.insert(tx).await?,
            #krate::__private::Write::Update => {
                let key = #krate::__private::ActiveModelTrait::get_primary_key_value(&row);
                // `update` fails on children that are new; `save` inserts them.
                match row.save(tx).await {
                    ::core::result::Result::Ok(saved) => ::core::convert::TryFrom::try_from(saved)?,
                    ::core::result::Result::Err(error) => {
                        return ::core::result::Result::Err(
                            #krate::__private::nested_error::<Entity>(key, error, tx).await,
                        );
                    }
                }
            }
        };
        let model: Model = ::core::convert::From::from(::core::clone::Clone::clone(&saved));
        ::core::result::Result::Ok((::core::convert::From::from(saved), model))
    };
    let delete = quote!(::core::result::Result::Ok(row.delete(tx).await?.rows_affected));
    (write, delete)
}
