//! Keys that no other model has: an enum, and a newtype over a number.

use outbox_runtime::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "shelf.filled", version = 1)]
pub struct Filled {
    pub pieces: i32,
}

pub mod by_kind {
    use outbox_runtime::prelude::*;
    use sea_orm::{Set, entity::prelude::*};

    use super::Filled;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
    #[sea_orm(rs_type = "String", db_type = "String(StringLen::None)")]
    pub enum Kind {
        #[sea_orm(string_value = "books")]
        Books,
        #[sea_orm(string_value = "tools/heavy")]
        Tools,
    }

    #[aggregate(root = KindShelf, name = "kind_shelf", events(Filled))]
    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "kind_shelves")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub kind: Kind,
        pub pieces: i32,
    }

    impl ActiveModelBehavior for ActiveModel {}

    impl KindShelf {
        pub fn fill(kind: Kind, pieces: i32) -> Self {
            let mut shelf = Self::new(ActiveModel { kind: Set(kind), pieces: Set(pieces) });
            shelf.emit(Filled { pieces });
            shelf
        }
    }
}

pub mod by_number {
    use outbox_runtime::prelude::*;
    use sea_orm::{Set, entity::prelude::*};

    use super::Filled;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, DeriveValueType)]
    pub struct ShelfNumber(pub i32);

    #[aggregate(root = NumberShelf, name = "number_shelf", events(Filled))]
    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "number_shelves")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub number: ShelfNumber,
        pub pieces: i32,
    }

    impl ActiveModelBehavior for ActiveModel {}

    impl NumberShelf {
        pub fn fill(number: i32, pieces: i32) -> Self {
            let mut shelf = Self::new(ActiveModel { number: Set(ShelfNumber(number)), pieces: Set(pieces) });
            shelf.emit(Filled { pieces });
            shelf
        }
    }
}
