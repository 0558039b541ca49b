//! Optimistic locking: an integer column that every save raises.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "account.debited", version = 1)]
pub struct AccountDebited {
    pub cents: i64,
}

#[aggregate(root = Account, name = "account", events(AccountDebited), version = row_version)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "accounts")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub row_version: i32,
}

impl ActiveModelBehavior for ActiveModel {}

/// Loads on a plain connection: no lock is needed.
pub async fn debit(db: &DatabaseConnection, id: i64) -> Result<(), Box<dyn std::error::Error>> {
    let mut account = Account::load(db, id).await?;
    account.emit(AccountDebited { cents: 100 });
    account.save(db).await?;
    if let Some(mut account) = Account::find(db, id).await? {
        account.delete(db).await?;
    }
    Ok(())
}

pub mod raw_name {
    //! The column's name is a keyword, and the entity has the older format.

    use outbox_runtime::aggregate;
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[aggregate(root = Lock, name = "lock", version = r#try)]
    #[sea_orm(table_name = "locks")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub r#try: u64,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
