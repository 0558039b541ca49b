//! The consumer `loyalty`: an account per customer, whose tier rises with what was spent.
//!
//! A link of a chain: it consumes the customer's events and saves an aggregate of its own, which emits. Inbox row,
//! account and new event are one transaction.

use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

use crate::{
    check::Fact,
    customer::{CustomerEvent, PurchaseMade},
    journal,
};

pub const NAME: &str = "loyalty";

#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumIter,
    DeriveActiveEnum,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::None)", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Basic,
    Silver,
    Gold,
    Platinum,
}

impl Tier {
    /// The tier of who has spent this much.
    pub fn of(spent_cents: i64) -> Self {
        match spent_cents {
            ..10_000 => Self::Basic,
            10_000..50_000 => Self::Silver,
            50_000..100_000 => Self::Gold,
            _ => Self::Platinum,
        }
    }

    pub fn rank(self) -> i32 {
        match self {
            Self::Basic => 0,
            Self::Silver => 1,
            Self::Gold => 2,
            Self::Platinum => 3,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "loyalty.tier_raised", version = 1)]
pub struct TierRaised {
    pub customer: i32,
    pub tier: Tier,
    pub spent_cents: i64,
}

#[aggregate(root = LoyaltyAccount, name = "loyalty_account", events(TierRaised))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "loyalty_accounts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub customer: i32,
    pub spent_cents: i64,
    pub tier: Tier,
}

impl ActiveModelBehavior for ActiveModel {}

impl LoyaltyAccount {
    pub fn open(customer: i32) -> Self {
        Self::new(ActiveModel { customer: Set(customer), spent_cents: Set(0), tier: Set(Tier::Basic) })
    }

    pub fn credit(&mut self, cents: i64) {
        let spent_cents = self.spent_cents.as_ref() + cents;
        self.spent_cents = Set(spent_cents);
        let tier = Tier::of(spent_cents);
        if tier > *self.tier.as_ref() {
            let customer = *self.customer.as_ref();
            self.tier = Set(tier);
            self.emit(TierRaised { customer, tier, spent_cents });
        }
    }
}

/// Runs inside the inbox transaction, and so does the account's `save`.
pub async fn reward(event: CustomerEvent, delivery: Delivery, tx: &Tx) -> Result<(), HandlerError> {
    let CustomerEvent::PurchaseMade(PurchaseMade { number, customer, cents, .. }) = event;
    let mut account = LoyaltyAccount::find(tx, customer).await?.unwrap_or_else(|| LoyaltyAccount::open(customer));
    account.credit(cents);
    account.save(tx).await?;
    journal::note(tx, delivery.consumer(), Fact::purchase(customer, number, cents)).await?;
    Ok(())
}
