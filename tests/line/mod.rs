//! The whole line: writers, relays, consumers, with everything that may happen between them.

mod chain;
mod invariants;
