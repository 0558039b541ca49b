//! A renamed aggregate, whose sequence numbers go on; an event of another module.

use outbox_runtime::aggregate;
use sea_orm::entity::prelude::*;

pub mod events {
    use outbox_runtime::DomainEvent;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "member.joined", version = 1)]
    pub struct MemberJoined {}
}

#[aggregate(root = Member, name = "member", events(events::MemberJoined), formerly = "user")]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "members")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}
