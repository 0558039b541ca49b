//! The new entity format, `#[aggregate]` above `#[sea_orm::model]`; a UUID key.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::{Set, entity::prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.placed", version = 1)]
pub struct OrderPlaced {
    pub total_cents: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.paid", version = 1)]
pub struct OrderPaid {
    pub payment: Uuid,
}

#[aggregate(root = Order, name = "order", events(OrderPlaced, OrderPaid))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub paid: bool,
    pub total_cents: i64,
}

impl ActiveModelBehavior for ActiveModel {}

impl Order {
    pub fn place(total_cents: i64) -> Self {
        let mut order =
            Order::new(ActiveModel { id: Set(Uuid::nil()), paid: Set(false), total_cents: Set(total_cents) });
        order.emit(OrderPlaced { total_cents });
        order
    }

    pub fn pay(&mut self, payment: Uuid) {
        self.paid = Set(true);
        self.emit(OrderPaid { payment });
    }
}

/// Every method of a root, and futures that can be spawned.
pub async fn use_all(db: &DatabaseConnection, tx: &sea_orm::DatabaseTransaction) -> Result<(), sea_orm::DbErr> {
    fn spawnable<F: Future + Send>(future: F) -> F {
        future
    }
    let mut order = Order::place(4_200);
    let first = order.pending().first().map(outbox_runtime::PendingEvent::event_id);
    assert!(first.is_some_and(|first| order.retract(first)));
    order.emit_with(|model| OrderPlaced { total_cents: model.total_cents }).emit(OrderPaid { payment: Uuid::nil() });
    assert!(spawnable(order.clone().save(db)).await.is_ok());
    assert!(spawnable(order.delete(tx)).await.is_ok());
    assert!(spawnable(Order::load(tx, Uuid::nil())).await.is_err());
    if let Ok(Some(order)) = spawnable(Order::find(tx, Uuid::nil())).await {
        order.discard();
    }
    Ok(())
}

/// Consumers match every event.
pub fn describe(event: OrderEvent) -> String {
    match event {
        OrderEvent::OrderPlaced(placed) => format!("{} cents", placed.total_cents),
        OrderEvent::OrderPaid(paid) => format!("paid by {}", paid.payment),
    }
}
