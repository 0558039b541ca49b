//! The runtime under another name: no generated path may be without it.

use sea_orm::entity::prelude::*;

/// Somebody's own crate that re-exports the runtime.
mod company {
    pub(super) extern crate outbox_runtime as outbox;
}

use company::outbox::{BoxError, DomainEvent, EventContext, EventSet, aggregate};

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema, DomainEvent)]
#[event(type = "job.queued", version = 1, crate = company::outbox)]
pub struct JobQueued {}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema, DomainEvent)]
#[event(type = "job.dropped", version = 1, retired, crate = company::outbox)]
pub struct JobDropped {}

#[aggregate(root = Job, name = "job", events(JobQueued), reads(JobDropped), crate = company::outbox)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "jobs")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub number: i32,
}

impl ActiveModelBehavior for ActiveModel {}

#[derive(Debug, EventSet)]
#[event(crate = company::outbox, split(JobDropped, with = forget))]
pub enum Queued {
    Job(JobQueued),
}

fn forget(_: JobDropped, _: &EventContext) -> Result<Vec<Queued>, BoxError> {
    Ok(Vec::new())
}
