// The aggregate of the documentation's examples; included by them.
#[allow(dead_code)]
mod order {
    use outbox_runtime::prelude::*;
    use sea_orm::{Set, entity::prelude::*};

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "order.placed", version = 1)]
    pub struct OrderPlaced {
        pub total_cents: i64,
    }

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "order.raised", version = 1)]
    pub struct OrderRaised {
        pub by_cents: i64,
    }

    #[aggregate(root = Order, name = "order", events(OrderPlaced, OrderRaised))]
    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub total_cents: i64,
    }

    impl ActiveModelBehavior for ActiveModel {}

    impl Order {
        pub fn place(total_cents: i64) -> Self {
            let mut order = Order::new(ActiveModel { total_cents: Set(total_cents), ..Default::default() });
            order.emit(OrderPlaced { total_cents });
            order
        }

        pub fn raise(&mut self, by_cents: i64) {
            let total = *self.total_cents.as_ref();
            self.total_cents = Set(total + by_cents);
            self.emit(OrderRaised { by_cents });
        }
    }
}
#[allow(unused_imports)]
use order::{Order, OrderEvent};
