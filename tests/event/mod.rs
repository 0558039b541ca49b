//! What an event may hold, and that it comes back.

mod floats;
mod refused;
mod round_trip;
