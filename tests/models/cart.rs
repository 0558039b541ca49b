//! A root that owns its children (`nested`), keyed by a newtype over text.

use outbox_runtime::prelude::*;
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash, DeriveValueType, Serialize, Deserialize)]
pub struct CartId(pub String);

impl sea_orm::TryFromU64 for CartId {
    fn try_from_u64(_: u64) -> Result<Self, DbErr> {
        Err(DbErr::Custom("a cart's id is text".into()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "cart.line_added", version = 1)]
pub struct LineAdded {
    pub sku: String,
}

#[aggregate(root = Cart, name = "cart", events(LineAdded), nested)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "carts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: CartId,
    pub owner: String,
    #[sea_orm(has_many)]
    pub lines: HasMany<line::Entity>,
}

impl ActiveModelBehavior for ActiveModel {}

impl Cart {
    pub fn open(id: &str, owner: &str) -> Self {
        Self::new(ActiveModel::builder().set_id(CartId(id.into())).set_owner(owner))
    }

    pub fn add(&mut self, sku: &str) {
        self.lines.push(line::ActiveModel::builder().set_sku(sku));
        self.emit(LineAdded { sku: sku.into() });
    }
}

pub mod line {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "cart_lines")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub cart_id: super::CartId,
        pub sku: String,
        #[sea_orm(belongs_to, from = "cart_id", to = "id")]
        pub cart: BelongsTo<super::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
