//! Every event carries the total after it, so that the order of the events can be checked.

use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "tally.opened", version = 1)]
pub struct Opened {
    pub total: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "tally.raised", version = 1)]
pub struct Raised {
    pub by: i64,
    pub total: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "tally.paid", version = 1)]
pub struct Paid {
    pub total: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "tally.closed", version = 1)]
pub struct Closed {
    pub total: i64,
}

#[aggregate(root = Tally, name = "tally", events(Opened, Raised, Paid, Closed))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tallies")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    pub total: i64,
    pub paid: bool,
}

impl ActiveModelBehavior for ActiveModel {}

impl Tally {
    pub fn open(id: i64, total: i64) -> Self {
        let mut tally = Self::new(ActiveModel { id: Set(id), total: Set(total), paid: Set(false) });
        tally.emit(Opened { total });
        tally
    }

    pub fn raise(&mut self, by: i64) {
        let total = *self.total.as_ref() + by;
        self.total = Set(total);
        self.emit(Raised { by, total });
    }

    /// Paid twice is paid once.
    pub fn pay(&mut self) {
        if !*self.paid.as_ref() {
            let total = *self.total.as_ref();
            self.paid = Set(true);
            self.emit(Paid { total });
        }
    }

    pub fn close(&mut self) {
        let total = *self.total.as_ref();
        self.emit(Closed { total });
    }
}
