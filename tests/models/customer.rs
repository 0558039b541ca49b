//! Auto-increment key, an enum column, hooks of the user's own; `#[aggregate]` below `#[sea_orm::model]`.

use outbox_runtime::prelude::*;
use sea_orm::{ActiveValue, Set, entity::prelude::*};

#[derive(Clone, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum, Serialize, Deserialize, JsonSchema)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::None)")]
pub enum Tier {
    #[sea_orm(string_value = "basic")]
    Basic,
    #[sea_orm(string_value = "gold")]
    Gold,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.registered", version = 1)]
pub struct CustomerRegistered {
    pub id: i32,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.promoted", version = 1)]
pub struct CustomerPromoted {
    pub tier: Tier,
}

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "customers")]
#[aggregate(root = Customer, name = "customer", events(CustomerRegistered, CustomerPromoted))]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i32,
    pub name: String,
    pub tier: Tier,
}

/// Trims names and refuses empty ones before the write; refuses the name "late" after it.
#[async_trait::async_trait]
impl ActiveModelBehavior for ActiveModel {
    async fn before_save<C: ConnectionTrait>(mut self, _: &C, _insert: bool) -> Result<Self, DbErr> {
        if let ActiveValue::Set(name) = &self.name {
            if name.is_empty() {
                return Err(DbErr::Custom("a customer needs a name".into()));
            }
            self.name = Set(name.trim().to_owned());
        }
        Ok(self)
    }

    async fn after_save<C: ConnectionTrait>(model: Model, _: &C, _insert: bool) -> Result<Model, DbErr> {
        if model.name == "late" { Err(DbErr::Custom("refused after the write".into())) } else { Ok(model) }
    }
}

impl Customer {
    pub fn register(name: &str) -> Self {
        let row = ActiveModel { name: Set(name.into()), tier: Set(Tier::Basic), ..Default::default() };
        let mut customer = Self::new(row);
        customer.emit_with(|model| CustomerRegistered { id: model.id, name: model.name.clone() });
        customer
    }

    pub fn promote(&mut self) {
        self.tier = Set(Tier::Gold);
        self.emit(CustomerPromoted { tier: Tier::Gold });
    }
}
