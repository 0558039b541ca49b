//! The consumer: one effect per event, in order, and nothing acknowledged that is not stored.

mod fixture;

mod deliver;
mod failing;
mod local_bus;
mod outage;
mod refused;
mod run;
