//! A root whose enum also reads what is no longer emitted.

use outbox_runtime::{BoxError, DomainEvent, EventContext, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "bill.sent", version = 1)]
pub struct BillSent {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "bill.settled", version = 1)]
pub struct BillSettled {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "bill.printed", version = 1, retired)]
pub struct BillPrinted {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "bill.closed", version = 1, retired)]
pub struct BillClosed {
    pub was_sent: bool,
}

#[aggregate(
    root = Bill,
    name = "bill",
    events(BillSent, BillSettled),
    reads(BillPrinted, split(BillClosed, with = closed)),
)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "bills")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

fn closed(old: BillClosed, _: &EventContext) -> Result<Vec<BillEvent>, BoxError> {
    let sent = (!old.was_sent).then(|| BillSent {}.into());
    Ok(sent.into_iter().chain([BillSettled {}.into()]).collect())
}
