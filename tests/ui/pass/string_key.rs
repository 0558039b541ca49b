//! A natural key of text.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "country.renamed", version = 1)]
pub struct CountryRenamed {
    pub to: String,
}

#[aggregate(root = Country, name = "country", events(CountryRenamed))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "countries")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub code: String,
    pub name: String,
}

impl ActiveModelBehavior for ActiveModel {}

pub async fn germany(tx: &sea_orm::DatabaseTransaction) -> Option<Country> {
    Country::find(tx, "DE").await.ok().flatten()
}
