//! The whole line on real data: emit, save, outbox, relay, broker, consumers, and a check that nothing is missing.
//!
//! ```text
//! 6,919 purchases ─► Customer::buy ─► purchase.made ─┬─► revenue: totals by month
//!                    row + event,                    └─► loyalty: LoyaltyAccount ─► loyalty.tier_raised ─► tiers
//!                    one transaction                     row + effect + event,
//!                                                        one transaction
//! ```
//!
//! Run it with
//!
//! ```text
//! cargo run -p quickstart                              # SQLite, ./quickstart.db
//! cargo run -p quickstart -- --fresh --crash-after 500 # kill -9 after 500 purchases; run again: it goes on
//! cargo run -p quickstart -- --database-url postgres://postgres@127.0.0.1/shop
//! ```
//!
//! Where to read: `customer` (an aggregate), `shop` (commands), `revenue` (a consumer), `loyalty` (a consumer that
//! emits), `line` (how it is put together), `check` (how the last line is computed).
#![allow(unreachable_pub, reason = "entities and roots are `pub`, as in a library; a program has no outside")]

mod check;
mod customer;
mod database;
mod input;
mod journal;
mod line;
mod loyalty;
mod revenue;
mod shop;
mod tiers;
mod till;
mod totals;

use std::{io, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use sea_orm::DatabaseConnection;
use tracing_subscriber::filter::LevelFilter;

use crate::{
    check::{Book, Kind},
    line::Missing,
    till::Till,
    totals::{Table, Totals, thousands},
};

/// Sends 6,919 real purchases through a transactional outbox and checks what came out.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(help = "SQLite or PostgreSQL", long, value_name = "URL", default_value = "sqlite://quickstart.db?mode=rwc")]
    database_url: String,
    /// Drop what an earlier run left.
    #[arg(long)]
    fresh: bool,
    /// Kill this process (SIGKILL) after so many purchases.
    #[arg(long, value_name = "PURCHASES", value_parser = clap::value_parser!(u32).range(1..))]
    crash_after: Option<u32>,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this program's output")]
async fn main() -> Result<ExitCode> {
    let Arguments { database_url, fresh, crash_after } = Arguments::parse();
    tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(LevelFilter::WARN).init();

    let purchases = input::purchases()?;
    let facts = check::asked_for(&purchases);
    let db = database::open(&database_url, fresh).await?;
    println!("database: {}", database::shown(&database_url));

    let todo = shop::left(&db, &purchases).await?;
    let [revenue, loyalty, tiers] = books(&db).await?;
    let missing = Missing {
        revenue: revenue.missing(&facts).count(),
        loyalty: loyalty.missing(&facts).count(),
        tiers: tiers.missing(&facts).count(),
    };
    match (todo.len(), missing.sum()) {
        (0, 0) => {
            println!("finished by an earlier run: nothing to do");
            println!("(--fresh starts anew)");
        }
        (left, effects) => println!("to do: {} purchases, {} effects", thousands(left), thousands(effects)),
    }

    let bar = progress(missing.sum())?;
    let till = Till::new(crash_after.map(usize::try_from).transpose()?, bar.clone());
    line::run(&db, &todo, missing, &till, &bar).await?;
    bar.finish_and_clear();

    let (tables, file) = (Totals::of_tables(&db).await?, Totals::of_file(&purchases));
    let verdict = check::check(&facts, &books(&db).await?);
    println!("\n{}", Table { tables: &tables, file: &file });
    if tables != file {
        println!("the tables do not add up to what the file asks for");
    }
    println!("{verdict}");
    Ok(if verdict.is_clean() && tables == file { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What each consumer has written down.
async fn books(db: &DatabaseConnection) -> Result<[Book; 3]> {
    Ok([
        journal::read(db, revenue::NAME, Kind::Purchase).await?,
        journal::read(db, loyalty::NAME, Kind::Purchase).await?,
        journal::read(db, tiers::NAME, Kind::Raise).await?,
    ])
}

/// On the terminal only: `indicatif` draws nothing into a pipe.
fn progress(effects: usize) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} effects, {msg} ({elapsed})")?;
    Ok(ProgressBar::new(effects.try_into()?).with_style(style).with_message("0 purchases made"))
}
