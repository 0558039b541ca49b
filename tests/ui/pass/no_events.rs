//! A root without events has no enum of them.

use outbox_runtime::aggregate;
use sea_orm::entity::prelude::*;

#[aggregate(root = Silent, name = "silent")]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "silent")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// The name is free.
#[derive(Debug)]
pub enum SilentEvent {}

pub mod empty_lists {
    use outbox_runtime::aggregate;
    use sea_orm::entity::prelude::*;

    #[aggregate(root = Quiet, name = "quiet", events(), reads())]
    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "quiet")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
