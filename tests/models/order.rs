//! UUID key, changed under a row lock.

use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.placed", version = 1)]
pub struct OrderPlaced {
    pub total_cents: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.paid", version = 1)]
pub struct OrderPaid {
    pub payment: Uuid,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.raised", version = 1)]
pub struct OrderRaised {
    pub by_cents: i64,
}

#[aggregate(root = Order, name = "order", events(OrderPlaced, OrderPaid, OrderRaised))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub status: String,
    pub total_cents: i64,
}

impl ActiveModelBehavior for ActiveModel {}

#[derive(Debug, thiserror::Error)]
#[error("the order is not new")]
pub struct NotNew;

impl Order {
    pub fn place(total_cents: i64) -> Self {
        Self::place_as(Uuid::now_v7(), total_cents)
    }

    pub fn place_as(id: Uuid, total_cents: i64) -> Self {
        let mut order =
            Self::new(ActiveModel { id: Set(id), status: Set("new".into()), total_cents: Set(total_cents) });
        order.emit(OrderPlaced { total_cents });
        order
    }

    pub fn pay(&mut self, payment: Uuid) -> Result<(), NotNew> {
        if self.status.as_ref() != "new" {
            return Err(NotNew);
        }
        self.status = Set("paid".into());
        self.emit(OrderPaid { payment });
        Ok(())
    }

    pub fn raise(&mut self, by_cents: i64) {
        let total = *self.total_cents.as_ref();
        self.total_cents = Set(total + by_cents);
        self.emit(OrderRaised { by_cents });
    }
}
