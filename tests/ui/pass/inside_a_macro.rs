//! Items that come out of a macro of the user: names and types arrive in invisible groups, with spans of elsewhere.

use outbox_runtime::{BoxError, DomainEvent, EventContext, EventSet, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "door.opened", version = 1)]
pub struct DoorOpened {}

macro_rules! event {
    ($name:ident, $ty:literal, $version:literal) => {
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
        #[event(type = $ty, version = $version, retired)]
        pub struct $name {}
    };
}
event!(DoorSlammed, "door.slammed", 1);

macro_rules! door {
    ($vis:vis $root:ident, $name:literal, [$($event:path),*], $old:path, $with:path, $column:ident) => {
        #[aggregate(
            root = $root,
            name = $name,
            events($($event),*),
            reads(split($old, with = $with)),
            version = $column,
        )]
        #[sea_orm::model]
        #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
        #[sea_orm(table_name = "doors")]
        $vis struct Model {
            #[sea_orm(primary_key)]
            pub id: i64,
            pub $column: i64,
        }

        impl ActiveModelBehavior for ActiveModel {}
    };
}
door!(pub Door, "door", [self::DoorOpened], DoorSlammed, forget, row_version);

fn forget<E>(_: DoorSlammed, _: &EventContext) -> Result<Vec<E>, BoxError> {
    Ok(Vec::new())
}

macro_rules! set {
    ($name:ident { $($variant:ident($ty:ty)),* }, $old:ty, $with:expr) => {
        #[derive(Debug, EventSet)]
        pub enum $name { $($variant($ty)),* }
    };
}
set!(Doors { Opened(DoorOpened), Slammed(DoorSlammed) }, DoorSlammed, forget);
