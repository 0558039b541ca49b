//! What stands beside the entity: the root, its methods, and the enum of its events.

mod events;
mod methods;
mod root;
mod write;

use proc_macro2::TokenStream;
use quote::quote;

use super::check::Aggregate;

pub(super) fn aggregate(aggregate: &Aggregate) -> TokenStream {
    let root = root::root(aggregate);
    let methods = methods::methods(aggregate);
    let events = events::events(aggregate);
    quote!(#root #methods #events)
}
