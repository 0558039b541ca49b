//! The aggregate on the producing side: a customer, changed by purchases.

use chrono::NaiveDate;
use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

use crate::input::Purchase;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "purchase.made", version = 1)]
pub struct PurchaseMade {
    pub number: i32,
    pub customer: i32,
    pub date: NaiveDate,
    pub discs: i32,
    pub cents: i64,
}

#[aggregate(root = Customer, name = "customer", events(PurchaseMade))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "customers")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i32,
    pub purchases: i32,
    pub spent_cents: i64,
    /// The number of the last purchase: what makes `buy` idempotent, and where a crashed run goes on.
    pub last_purchase: i32,
}

impl ActiveModelBehavior for ActiveModel {}

impl Customer {
    pub fn register(id: i32) -> Self {
        Self::new(ActiveModel { id: Set(id), purchases: Set(0), spent_cents: Set(0), last_purchase: Set(0) })
    }

    /// Changes the row and emits. A purchase that was made before changes nothing.
    pub fn buy(&mut self, purchase: &Purchase) {
        let &Purchase { number, customer, date, discs, cents } = purchase;
        if number <= *self.last_purchase.as_ref() {
            return;
        }
        self.purchases = Set(self.purchases.as_ref() + 1);
        self.spent_cents = Set(self.spent_cents.as_ref() + cents);
        self.last_purchase = Set(number);
        self.emit(PurchaseMade { number, customer, date, discs, cents });
    }
}
