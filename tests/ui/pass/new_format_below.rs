//! The new entity format, `#[aggregate]` below `#[sea_orm::model]`; an auto-increment key, an enum column, a
//! relation, and the user's own hooks.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::{ConnectionTrait, Set, entity::prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum, Serialize, Deserialize)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::None)")]
pub enum Tier {
    #[sea_orm(string_value = "basic")]
    Basic,
    #[sea_orm(string_value = "gold")]
    Gold,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.registered", version = 1)]
pub struct CustomerRegistered {
    pub id: i32,
    pub name: String,
}

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "customers")]
#[aggregate(root = Customer, name = "customer", events(CustomerRegistered))]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i32,
    pub name: String,
    pub tier: Tier,
    #[sea_orm(has_many)]
    pub notes: HasMany<note::Entity>,
}

#[async_trait::async_trait]
impl ActiveModelBehavior for ActiveModel {
    async fn before_save<C: ConnectionTrait>(mut self, _: &C, _insert: bool) -> Result<Self, DbErr> {
        if let Set(name) = &self.name {
            self.name = Set(name.trim().to_owned());
        }
        Ok(self)
    }
}

impl Customer {
    pub fn register(name: &str) -> Self {
        let mut customer =
            Customer::new(ActiveModel { name: Set(name.into()), tier: Set(Tier::Basic), ..Default::default() });
        customer.emit_with(|model| CustomerRegistered { id: model.id, name: model.name.clone() });
        customer
    }
}

pub mod note {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "notes")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub customer_id: i32,
        pub text: String,
        #[sea_orm(belongs_to, from = "customer_id", to = "id")]
        pub customer: BelongsTo<super::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
