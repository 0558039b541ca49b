//! Hooks that refuse on demand, on a plain, a versioned and a nested root.

use outbox_runtime::prelude::*;
use sea_orm::{ActiveValue, ConnectionTrait, DbErr};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "guarded.touched", version = 1)]
pub struct Touched {}

pub const ERRORS: [&str; 3] = ["RecordNotUpdated", "RecordNotFound", "Custom"];

/// What the tests do with every kind of root.
pub trait Guarded: outbox_runtime::Aggregate + Clone {
    const TABLE: &'static str;
    /// A new root with an event.
    fn open(id: i64, orders: &str) -> Self;
    /// Gives other orders to the hooks, and emits an event.
    fn touch(&mut self, orders: &str);
    /// A root whose row is not in the database.
    fn ghost(id: i64, orders: &str) -> Self;
}

/// `orders` is `<hook> <error>`: that hook returns that error. Or `<hook> note`: it writes a row of its own.
async fn obey<C: ConnectionTrait>(hook: &str, orders: &ActiveValue<String>, db: &C) -> Result<(), DbErr> {
    let orders = orders.try_as_ref().map_or("", String::as_str);
    match orders.strip_prefix(hook).map(str::trim) {
        Some("note") => db.execute_unprepared("INSERT INTO notes VALUES (1)").await.map(drop),
        Some(error) => Err(error_named(error)),
        None => Ok(()),
    }
}

pub fn error_named(error: &str) -> DbErr {
    match error {
        "RecordNotUpdated" => DbErr::RecordNotUpdated,
        "RecordNotFound" => DbErr::RecordNotFound("of a hook's own".into()),
        _ => DbErr::Custom("of a hook's own".into()),
    }
}

macro_rules! guarded {
    ($module:ident, $root:ident, $table:literal, $($how:tt)*) => {
        #[allow(dead_code, reason = "SeaORM generates more than is used")]
        pub mod $module {
            use outbox_runtime::prelude::*;
            use sea_orm::{Set, entity::prelude::*};

            use super::{Guarded, Touched, obey};

            #[aggregate(root = $root, name = $table, events(Touched) $($how)*)]
            #[sea_orm::model]
            #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
            #[sea_orm(table_name = $table)]
            pub struct Model {
                #[sea_orm(primary_key, auto_increment = false)]
                pub id: i64,
                pub orders: String,
                pub version: i32,
            }

            #[async_trait::async_trait]
            impl ActiveModelBehavior for ActiveModel {
                async fn before_save<C: ConnectionTrait>(self, db: &C, _insert: bool) -> Result<Self, DbErr> {
                    obey("before_save", &self.orders, db).await?;
                    Ok(self)
                }
                async fn after_save<C: ConnectionTrait>(model: Model, db: &C, _insert: bool) -> Result<Model, DbErr> {
                    obey("after_save", &Set(model.orders.clone()), db).await?;
                    Ok(model)
                }
                async fn before_delete<C: ConnectionTrait>(self, db: &C) -> Result<Self, DbErr> {
                    obey("before_delete", &self.orders, db).await?;
                    Ok(self)
                }
                async fn after_delete<C: ConnectionTrait>(self, db: &C) -> Result<Self, DbErr> {
                    obey("after_delete", &self.orders, db).await?;
                    Ok(self)
                }
            }

            impl Guarded for $root {
                const TABLE: &'static str = $table;
                fn open(id: i64, orders: &str) -> Self {
                    let row = ActiveModel { id: Set(id), orders: Set(orders.into()), version: Set(1) };
                    let mut root = Self::new(row);
                    root.emit(Touched {});
                    root
                }
                fn touch(&mut self, orders: &str) {
                    self.orders = Set(orders.into());
                    self.emit(Touched {});
                }
                fn ghost(id: i64, orders: &str) -> Self {
                    let mut root = Self::from(Model { id, orders: String::new(), version: 1 });
                    root.touch(orders);
                    root
                }
            }
        }
    };
}
guarded!(plain, Plain, "guarded_plain",);
guarded!(versioned, Versioned, "guarded_versioned", , version = version);
guarded!(nested, Nested, "guarded_nested", , nested);
