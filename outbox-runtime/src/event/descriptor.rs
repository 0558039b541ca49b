//! What tools know about the events linked into a program.

use std::fmt;

/// One event type linked into this program. Consumers never depend on this list: it serves tools only.
///
/// ```
/// use outbox_runtime::{EventDescriptor, prelude::*};
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "stock.counted", version = 1)]
/// struct StockCounted {
///     pieces: u32,
/// }
/// let found = EventDescriptor::all().find(|event| event.event_type == "stock.counted");
/// assert!(found.is_some_and(|event| event.newest == 1 && event.schemas().count() == 1));
/// ```
pub struct EventDescriptor {
    /// The wire name.
    pub event_type: &'static str,
    /// The oldest version that the program still knows as a struct.
    pub oldest: u16,
    /// The newest version.
    pub newest: u16,
    /// Path of the Rust type, for messages.
    pub rust_path: &'static str,
    /// May be read but no longer emitted.
    pub retired: bool,
    #[doc(hidden)]
    pub schemas: &'static [fn() -> schemars::Schema],
}

inventory::collect!(EventDescriptor);

impl EventDescriptor {
    /// Every event type linked into this program, in no order.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        inventory::iter::<Self>.into_iter()
    }

    /// The version and JSON Schema (of what is *written*, the serialize contract) of each known version, oldest first.
    pub fn schemas(&self) -> impl Iterator<Item = (u16, schemars::Schema)> {
        (self.oldest..).zip(self.schemas.iter().map(|schema| schema()))
    }
}

impl fmt::Debug for EventDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventDescriptor")
            .field("event_type", &self.event_type)
            .field("versions", &(self.oldest..=self.newest))
            .field("rust_path", &self.rust_path)
            .finish_non_exhaustive()
    }
}
