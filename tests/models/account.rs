//! Integer key made by the client, changed optimistically: `version = revision`.

use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "account.credited", version = 1)]
pub struct Credited {
    pub cents: i64,
}

#[aggregate(root = Account, name = "account", events(Credited), version = revision)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "accounts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    pub balance_cents: i64,
    pub revision: i32,
}

impl ActiveModelBehavior for ActiveModel {}

impl Account {
    pub fn open(id: i64) -> Self {
        Self::new(ActiveModel { id: Set(id), balance_cents: Set(0), ..Default::default() })
    }

    pub fn credit(&mut self, cents: i64) {
        let balance = *self.balance_cents.as_ref();
        self.balance_cents = Set(balance + cents);
        self.emit(Credited { cents });
    }
}
