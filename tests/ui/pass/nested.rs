//! A root that saves its children with it.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "cart.line_added", version = 1)]
pub struct LineAdded {
    pub sku: String,
}

#[aggregate(root = Cart, name = "cart", events(LineAdded), nested)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "carts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub owner: String,
    #[sea_orm(has_many)]
    pub lines: HasMany<line::Entity>,
}

impl ActiveModelBehavior for ActiveModel {}

impl Cart {
    pub fn open(id: Uuid, owner: &str) -> Self {
        Cart::new(ActiveModel::builder().set_id(id).set_owner(owner))
    }

    pub fn add(&mut self, sku: &str) {
        self.lines.push(line::ActiveModel::builder().set_sku(sku));
        self.emit(LineAdded { sku: sku.into() });
    }
}

pub async fn fill(db: &DatabaseConnection, loaded: ModelEx) -> Result<(), outbox_runtime::SaveError> {
    let mut cart = Cart::from(loaded);
    cart.add("4711");
    cart.save(db).await?;
    cart.delete(db).await?;
    Ok(())
}

pub mod line {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "cart_lines")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub cart_id: Uuid,
        pub sku: String,
        #[sea_orm(belongs_to, from = "cart_id", to = "id")]
        pub cart: BelongsTo<super::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
