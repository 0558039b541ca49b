//! Roots and events that only their crate sees.

#![deny(unreachable_pub, private_interfaces, private_bounds, dead_code)]

#[allow(dead_code, reason = "compiled only")]
mod inside {
    use outbox_runtime::{DomainEvent, aggregate};
    use schemars::JsonSchema;
    use sea_orm::entity::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "draft.saved", version = 1)]
    pub(crate) struct DraftSaved {}

    #[aggregate(root = Draft, name = "draft", events(DraftSaved))]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "drafts")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub(crate) id: i64,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub(crate) enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
