//! The writers: every purchase is a command on its customer.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use outbox_runtime::prelude::*;
use sea_orm::{DatabaseConnection, DbBackend, EntityTrait as _};
use tokio::task::JoinSet;

use crate::{
    customer::{self, Customer},
    input::Purchase,
    till::Till,
};

/// What is left to do, told from the customers' rows: they change in the transaction that stores the event.
pub async fn left(db: &DatabaseConnection, purchases: &[Purchase]) -> Result<Vec<Purchase>> {
    let customers = customer::Entity::find().all(db).await?;
    let last: HashMap<i32, i32> = customers.into_iter().map(|row| (row.id, row.last_purchase)).collect();
    let is_left = |purchase: &&Purchase| last.get(&purchase.customer).is_none_or(|last| purchase.number > *last);
    Ok(purchases.iter().filter(is_left).copied().collect())
}

/// Makes the purchases: those of one customer by one writer, in their order.
pub async fn open(db: &DatabaseConnection, purchases: &[Purchase], till: &Till) -> Result<()> {
    // SQLite has one writer at a time, however many ask.
    let writers = if db.get_database_backend() == DbBackend::Sqlite { 1 } else { 4 };
    let mut running = JoinSet::new();
    for writer in 0..writers {
        let mine = purchases.iter().filter(|purchase| purchase.customer % writers == writer).copied().collect();
        running.spawn(serve(db.clone(), mine, till.clone()));
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// One transaction a day.
async fn serve(db: DatabaseConnection, purchases: Vec<Purchase>, till: Till) -> Result<()> {
    for day in purchases.chunk_by(|one, next| one.date == next.date) {
        let mut rest = day;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(till.admit(rest.len()).await);
            buy(&db, now).await?;
            till.made(now.len())?;
            rest = later;
        }
    }
    Ok(())
}

/// Several commands in one transaction: each emits its own event, all are stored by one statement.
async fn buy(db: &DatabaseConnection, purchases: &[Purchase]) -> Result<()> {
    let mut of_customer: BTreeMap<i32, Vec<&Purchase>> = BTreeMap::new();
    for purchase in purchases {
        of_customer.entry(purchase.customer).or_default().push(purchase);
    }
    let of_customer = &of_customer;
    transact(db, TxPolicy::default(), async |tx| {
        let mut customers = Vec::new();
        // Rows are locked in the order of their keys: two transactions never wait for each other.
        for (id, purchases) in of_customer {
            let mut customer = Customer::find(tx, *id).await?.unwrap_or_else(|| Customer::register(*id));
            for purchase in purchases {
                customer.buy(purchase);
            }
            customers.push(customer);
        }
        save_all(&mut customers, tx).await?;
        Ok(())
    })
    .await
}
