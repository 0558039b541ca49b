//! Generated code under the strictest lints that users have.

#![deny(missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications, unused_must_use)]
#![deny(elided_lifetimes_in_paths, single_use_lifetimes, unused_results, let_underscore_drop)]
#![deny(clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::missing_docs_in_private_items, clippy::missing_errors_doc, clippy::must_use_candidate)]

use outbox_runtime::{BoxError, DomainEvent, EventContext, EventSet, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

/// It was opened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "strict.opened", version = 1)]
pub struct StrictOpened {}

/// It was closed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "strict.closed", version = 1)]
pub struct StrictClosed {}

/// It was both; this is not emitted any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "strict.toggled", version = 1, retired)]
pub struct StrictToggled {}

/// The row.
#[aggregate(root = Strict, name = "strict", events(StrictOpened), reads(StrictClosed), version = version)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "strict")]
pub struct Model {
    /// The key.
    #[sea_orm(primary_key)]
    pub id: i64,
    /// Raised by each save.
    pub version: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// A set of one's own.
#[derive(Debug, EventSet)]
#[event(split(StrictToggled, with = toggled))]
pub enum StrictSet {
    /// Opened.
    Opened(StrictOpened),
    /// Closed.
    Closed(StrictClosed),
}

/// It was opened, then closed.
#[allow(clippy::unnecessary_wraps, reason = "the signature of a split")]
fn toggled(_: StrictToggled, _: &EventContext) -> Result<Vec<StrictSet>, BoxError> {
    Ok(vec![StrictOpened {}.into(), StrictClosed {}.into()])
}
