#![allow(unused_imports)]

use outbox_runtime::aggregate;
use outbox_ui_tests::expanded_format::{Column, Entity};
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveModel, DeriveActiveModel)]
#[aggregate(root = Lamp, name = "lamp")]
pub struct Model {
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

fn main() {}
