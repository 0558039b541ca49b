//! The inherent methods of the root.

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    super::check::{Aggregate, RowKind},
    root,
};

pub(super) fn methods(aggregate: &Aggregate) -> TokenStream {
    let Aggregate { vis, root, krate, .. } = aggregate;
    let row = root::row(aggregate);
    let load = load(aggregate);
    quote! {
        #[automatically_derived]
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl #root {
            /// A root whose row is not in the database yet: `save` inserts it.
            #vis fn new(row: impl ::core::convert::Into<#row>) -> Self {
                Self { __outbox_row: row.into(), __outbox_state: #krate::RootState::fresh() }
            }

            /// Queues an event. `save` and `delete` write it together with the row.
            #vis fn emit<__E: #krate::EventOf<Self>>(&mut self, event: __E) -> &mut Self {
                self.__outbox_state.emit::<Self, __E>(&event);
                self
            }

            /// Queues an event that is built from the row as the database returns it, with generated keys
            /// and defaults.
            #vis fn emit_with<__E: #krate::EventOf<Self>>(
                &mut self,
                build: impl ::core::ops::Fn(&Model) -> __E
                + ::core::marker::Send
                + ::core::marker::Sync
                + 'static,
            ) -> &mut Self {
                self.__outbox_state.emit_with::<Self, __E>(build);
                self
            }

            /// The events that wait for `save`.
            #vis fn pending(&self) -> &[#krate::PendingEvent<Model>] {
                self.__outbox_state.pending()
            }

            /// Takes one waiting event back. `false` if none has this id.
            #vis fn retract(&mut self, event_id: #krate::__private::Uuid) -> bool {
                self.__outbox_state.retract(event_id)
            }

            /// Gives up the changes and the waiting events on purpose.
            #vis fn discard(mut self) {
                self.__outbox_state.clear();
            }

            /// Writes the row, its sequence numbers and its events in one transaction. A connection opens
            /// one for it; a transaction is joined.
            ///
            /// # Errors
            /// See `SaveError`. The root keeps its row and its events, and may be saved again.
            #vis async fn save<__C: #krate::OutboxConnection>(
                &mut self,
                db: &__C,
            ) -> ::core::result::Result<#krate::Saved<Model>, #krate::SaveError> {
                #krate::__private::save(self, db).await
            }

            /// Deletes the row and writes the waiting events, in one transaction.
            ///
            /// # Errors
            /// See `SaveError`. The root keeps its row and its events.
            #vis async fn delete<__C: #krate::OutboxConnection>(
                &mut self,
                db: &__C,
            ) -> ::core::result::Result<#krate::Deleted, #krate::SaveError> {
                #krate::__private::delete(self, db).await
            }

            #load
        }
    }
}

fn load(aggregate: &Aggregate) -> TokenStream {
    let Aggregate { vis, krate, .. } = aggregate;
    let key = quote! {
        impl ::core::convert::Into<
            <<Entity as #krate::__private::EntityTrait>::PrimaryKey as #krate::__private::PrimaryKeyTrait>::ValueType,
        > + ::core::marker::Send
    };
    match aggregate.row {
        RowKind::Plain | RowKind::Nested => quote! {
            /// Reads the row and locks it until the transaction ends: another `load` of it waits until then,
            /// a read without a lock does not. Only this one row is locked, not those that belong to it.
            /// SQLite locks no rows: there the transactions of `transact` run one after the other.
            ///
            /// # Errors
            /// `LoadError::NotFound` if there is no such row.
            #vis async fn load<__C: #krate::OutboxTransaction>(
                tx: &__C,
                id: #key,
            ) -> ::core::result::Result<Self, #krate::LoadError> {
                #krate::__private::load_locked(tx, id).await
            }

            /// As `load`, but `None` if there is no such row. A row that is missing cannot be locked: of two
            /// programs that both find none and create it, one meets a unique violation, which `transact`
            /// does not rerun.
            ///
            /// # Errors
            /// `LoadError::Db` if the row could not be read.
            #vis async fn find<__C: #krate::OutboxTransaction>(
                tx: &__C,
                id: #key,
            ) -> ::core::result::Result<::core::option::Option<Self>, #krate::LoadError> {
                #krate::__private::find_locked(tx, id).await
            }
        },
        RowKind::Versioned { .. } => quote! {
            /// Reads the row and locks nothing: `save` finds out if somebody else changed it meanwhile.
            ///
            /// # Errors
            /// `LoadError::NotFound` if there is no such row.
            #vis async fn load<__C: #krate::OutboxConnection>(
                db: &__C,
                id: #key,
            ) -> ::core::result::Result<Self, #krate::LoadError> {
                #krate::__private::load(db, id).await
            }

            /// As `load`, but `None` if there is no such row. A row that is missing has no version either: of
            /// two programs that both find none and create it, one meets a unique violation, which `transact`
            /// does not rerun.
            ///
            /// # Errors
            /// `LoadError::Db` if the row could not be read.
            #vis async fn find<__C: #krate::OutboxConnection>(
                db: &__C,
                id: #key,
            ) -> ::core::result::Result<::core::option::Option<Self>, #krate::LoadError> {
                #krate::__private::find(db, id).await
            }
        },
    }
}
