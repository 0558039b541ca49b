//! Measures the framework beside the same work written by hand.
//!
//! Run with `cargo run --release -p outbox-bench -- relay`.
#![allow(clippy::print_stdout, reason = "the figures are its output")]

mod database;
mod relay;
mod report;

use clap::{Parser, Subcommand, ValueEnum};

#[derive(Parser)]
#[command(about = "Measures outbox-runtime beside the same work written by hand")]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// Drains a full queue with a publisher that acknowledges at once.
    Relay(RelayArguments),
}

/// What to drain, and how often.
#[derive(Clone, Debug, clap::Args)]
struct RelayArguments {
    #[arg(long, value_enum, default_value = "postgres")]
    database: DatabaseKind,
    /// Events in the queue at the start of each round.
    #[arg(long, default_value_t = 100_000)]
    events: u32,
    /// Aggregates they are spread over.
    #[arg(long, default_value_t = 20_000)]
    aggregates: u32,
    /// Alternating rounds.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Events a read brings, on both sides.
    #[arg(long, default_value_t = 1_000)]
    batch: u32,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DatabaseKind {
    Postgres,
    Sqlite,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().suite {
        Suite::Relay(arguments) => relay::run(&arguments).await,
    }
}
