//! The check finds what was done to the books on purpose.

use anyhow::Result;
use chrono::NaiveDate;
use sea_orm::{ConnectionTrait as _, DatabaseConnection};

use super::{Book, Fact, Kind, Verdict, asked_for, check};
use crate::{database, input::Purchase, journal, loyalty::Tier, revenue, tiers};

/// Two customers, five purchases, one raise.
fn purchases() -> Vec<Purchase> {
    let (date, discs) = (NaiveDate::default(), 1);
    let amounts = [(7, 6_000), (8, 500), (7, 5_000), (8, 100), (7, 0)];
    let purchase = |(number, (customer, cents))| Purchase { number, customer, date, discs, cents };
    (1..).zip(amounts).map(purchase).collect()
}

/// The verdict on books that are right but for `damage`.
async fn after(damage: &str) -> Result<Verdict> {
    let facts = asked_for(&purchases());
    let db = database::open("sqlite::memory:", false).await?;
    for fact in &facts {
        let consumer = if fact.kind == Kind::Purchase { revenue::NAME } else { tiers::NAME };
        journal::note(&db, consumer, *fact).await?;
    }
    db.execute_unprepared(damage).await?;
    Ok(check(&facts, &books(&db).await?))
}

async fn books(db: &DatabaseConnection) -> Result<[Book; 2]> {
    let revenue = journal::read(db, revenue::NAME, Kind::Purchase).await?;
    Ok([revenue, journal::read(db, tiers::NAME, Kind::Raise).await?])
}

const CLEAN: Verdict = Verdict { events: 6, published: 6, lost: 0, phantom: 0, inversions: 0, double_effects: 0 };

#[test]
fn the_file_asks_for_purchases_and_raises() {
    let facts = asked_for(&purchases());
    assert_eq!(facts.len(), 6);
    assert_eq!(facts.get(3), Some(&Fact::raise(7, Tier::Silver, 11_000)));
}

#[tokio::test]
async fn right_books_are_clean() -> Result<()> {
    let verdict = after("SELECT 1").await?;
    assert_eq!(verdict, CLEAN);
    assert!(verdict.is_clean());
    assert_eq!(verdict.to_string(), "events=6 published=6 lost=0 phantom=0 inversions=0 double_effects=0");
    Ok(())
}

#[tokio::test]
async fn a_missing_effect_is_lost() -> Result<()> {
    let verdict = after("DELETE FROM journal WHERE consumer = 'revenue' AND number = 2").await?;
    assert_eq!(verdict, Verdict { published: 5, lost: 1, ..CLEAN });
    assert!(!verdict.is_clean());
    Ok(())
}

#[tokio::test]
async fn an_effect_of_nothing_is_a_phantom() -> Result<()> {
    let damage = "INSERT INTO journal (consumer, customer, number, cents) VALUES ('revenue', 7, 99, 100)";
    assert_eq!(after(damage).await?, Verdict { phantom: 1, ..CLEAN });
    Ok(())
}

#[tokio::test]
async fn a_wrong_amount_is_a_loss_and_a_phantom() -> Result<()> {
    let verdict = after("UPDATE journal SET cents = cents + 1 WHERE consumer = 'tiers'").await?;
    assert_eq!(verdict, Verdict { published: 5, lost: 1, phantom: 1, ..CLEAN });
    Ok(())
}

#[tokio::test]
async fn a_repeated_effect_is_double_however_late() -> Result<()> {
    let damage = "INSERT INTO journal (consumer, customer, number, cents) \
        SELECT consumer, customer, number, cents FROM journal WHERE number <= 2";
    // Purchases 1 and 2, and the raise to rank 1.
    assert_eq!(after(damage).await?, Verdict { double_effects: 3, ..CLEAN });
    Ok(())
}

#[tokio::test]
async fn an_effect_out_of_order_is_an_inversion() -> Result<()> {
    // Of customer 7, the last purchase now comes first. Customer 8 is beside the point.
    let damage = "UPDATE journal SET id = -1 WHERE consumer = 'revenue' AND number = 5";
    assert_eq!(after(damage).await?, Verdict { inversions: 2, ..CLEAN });
    Ok(())
}
