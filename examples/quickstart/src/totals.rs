//! What the tables add up to, beside what the input file adds up to.

use std::{collections::BTreeMap, fmt};

use anyhow::Result;
use sea_orm::{DatabaseConnection, EntityTrait as _};

use crate::{
    customer,
    input::Purchase,
    loyalty::{self, Tier},
    revenue, tiers,
};

/// Everything in the tables that can be told from the file alone, by table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    customers: BTreeMap<i32, Sum>,
    months: BTreeMap<String, Sum>,
    accounts: BTreeMap<i32, (Tier, i64)>,
    raised: BTreeMap<Tier, i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    purchases: i64,
    cents: i64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.purchases += other.purchases;
        self.cents += other.cents;
    }

    fn over<'s>(sums: impl IntoIterator<Item = &'s Self>) -> Self {
        sums.into_iter().fold(Self::default(), |mut all, sum| {
            all.add(*sum);
            all
        })
    }
}

impl Totals {
    pub fn of_file(purchases: &[Purchase]) -> Self {
        let mut totals = Self::default();
        for &Purchase { customer, date, cents, .. } in purchases {
            let sum = Sum { purchases: 1, cents };
            totals.customers.entry(customer).or_default().add(sum);
            totals.months.entry(date.format("%Y-%m").to_string()).or_default().add(sum);
            let (tier, spent) = totals.accounts.entry(customer).or_insert((Tier::Basic, 0));
            *spent += cents;
            let reached = Tier::of(*spent);
            if reached > *tier {
                *tier = reached;
                *totals.raised.entry(reached).or_default() += 1;
            }
        }
        totals
    }

    pub async fn of_tables(db: &DatabaseConnection) -> Result<Self> {
        let customers = customer::Entity::find().all(db).await?.into_iter();
        let months = revenue::Entity::find().all(db).await?.into_iter();
        let accounts = loyalty::Entity::find().all(db).await?.into_iter();
        let raised = tiers::Entity::find().all(db).await?.into_iter();
        let sum = |purchases, cents| Sum { purchases, cents };
        Ok(Self {
            customers: customers.map(|row| (row.id, sum(row.purchases.into(), row.spent_cents))).collect(),
            months: months.map(|row| (row.month, sum(row.purchases, row.cents))).collect(),
            accounts: accounts.map(|row| (row.customer, (row.tier, row.spent_cents))).collect(),
            raised: raised.map(|row| (row.tier, row.raised)).collect(),
        })
    }

    /// What is worth showing; `months` are shown one by one.
    fn lines(&self, months: &[String]) -> Vec<(String, Amount)> {
        let (customers, revenue) = (Sum::over(self.customers.values()), Sum::over(self.months.values()));
        let mut lines = vec![
            ("shop: customers".to_owned(), Amount::of(self.customers.len())),
            ("shop: purchases".to_owned(), Amount::Count(customers.purchases)),
            ("shop: spent".to_owned(), Amount::Money(customers.cents)),
            ("revenue: months".to_owned(), Amount::of(self.months.len())),
            ("revenue: purchases".to_owned(), Amount::Count(revenue.purchases)),
            ("revenue: sum".to_owned(), Amount::Money(revenue.cents)),
        ];
        for month in months {
            let cents = self.months.get(month).map_or(0, |sum| sum.cents);
            lines.push((format!("revenue: {month}"), Amount::Money(cents)));
        }
        lines.push(("loyalty: accounts".to_owned(), Amount::of(self.accounts.len())));
        lines.push(("loyalty: sum".to_owned(), Amount::Money(self.accounts.values().map(|(_, spent)| spent).sum())));
        for tier in [Tier::Silver, Tier::Gold, Tier::Platinum] {
            let members = self.accounts.values().filter(|(of, _)| *of == tier).count();
            lines.push((format!("loyalty: now {tier:?}"), Amount::of(members)));
        }
        for tier in [Tier::Silver, Tier::Gold, Tier::Platinum] {
            let raised = self.raised.get(&tier).copied().unwrap_or_default();
            lines.push((format!("tiers: raised to {tier:?}"), Amount::Count(raised)));
        }
        lines
    }

    /// The three best months.
    fn best_months(&self) -> Vec<String> {
        let mut months: Vec<_> = self.months.iter().collect();
        months.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.cents));
        months.into_iter().take(3).map(|(month, _)| month.clone()).collect()
    }
}

/// Two columns, side by side.
pub struct Table<'t> {
    pub tables: &'t Totals,
    pub file: &'t Totals,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let months = self.file.best_months();
        let (tables, file) = (self.tables.lines(&months), self.file.lines(&months));
        writeln!(f, "{:26}{:>16}{:>16}", "totals", "in the tables", "from the file")?;
        for ((label, found), (_, asked)) in tables.into_iter().zip(file) {
            writeln!(f, "{label:26}{:>16}{:>16}", found.to_string(), asked.to_string())?;
        }
        Ok(())
    }
}

enum Amount {
    Count(i64),
    Money(i64),
}

impl Amount {
    fn of(count: usize) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => f.write_str(&thousands(count)),
            Self::Money(cents) => write!(f, "${}.{:02}", thousands(cents / 100), (cents % 100).abs()),
        }
    }
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: impl fmt::Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (left, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        text.push(digit);
        if left > 0 && left % 3 == 0 && digit != '-' {
            text.push(',');
        }
    }
    text
}
