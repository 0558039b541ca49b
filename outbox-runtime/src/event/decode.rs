//! From a stored event to a payload struct, with an error that says what stands in the way.

use serde::de::DeserializeOwned;

use super::{BoxError, Payload, RawEvent};

/// Why a stored event could not be read. The event itself is untouched.
///
/// ```
/// use outbox_runtime::{DecodeError, RawEvent, prelude::*};
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "order.paid", version = 1)]
/// struct OrderPaid {
///     payment: u32,
/// }
/// let newer = RawEvent::new("order.paid", 2, serde_json::json!({}));
/// assert!(matches!(OrderPaid::load(&newer), Err(DecodeError::NewerVersion { found: 2, known: 1, .. })));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The set of events has no event of this type: it belongs to somebody else, or a producer is ahead.
    #[error("no event of type `{ty}` is known here")]
    UnknownType {
        /// The type found.
        ty: String,
    },
    /// The event was written by a newer program. It waits until this program is upgraded.
    #[error("`{ty}` has version {found}, this program knows up to {known}: deploy the newer consumer")]
    NewerVersion {
        /// The type.
        ty: &'static str,
        /// The version found.
        found: u16,
        /// The newest version known.
        known: u16,
    },
    /// The version is 0, which no program writes.
    #[error("`{ty}` has version {found}; versions are counted from 1")]
    BadVersion {
        /// The type.
        ty: &'static str,
        /// The version found.
        found: u16,
    },
    /// The payload does not fit its declared shape.
    #[error("`{ty}` version {version} does not fit its shape at `{path}`")]
    Payload {
        /// The type.
        ty: &'static str,
        /// The version tried.
        version: u16,
        /// Where in the JSON, for example `lines[2].price`; `.` is the whole payload.
        path: String,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// A conversion from an older version failed.
    #[error("`{ty}` could not be converted from version {from}")]
    Upcast {
        /// The type.
        ty: &'static str,
        /// The version converted from.
        from: u16,
        /// What the upcaster said.
        #[source]
        source: BoxError,
    },
}

/// Reads `raw` as exactly version `P::VERSION`.
pub(crate) fn parse<P: Payload + DeserializeOwned>(raw: &RawEvent) -> Result<P, DecodeError> {
    if raw.ty != P::TYPE {
        return Err(DecodeError::UnknownType { ty: raw.ty.clone() });
    }
    if raw.version == 0 {
        return Err(DecodeError::BadVersion { ty: P::TYPE, found: raw.version });
    }
    if raw.version > P::VERSION {
        return Err(DecodeError::NewerVersion { ty: P::TYPE, found: raw.version, known: P::VERSION });
    }
    serde_path_to_error::deserialize(&raw.payload).map_err(|error| DecodeError::Payload {
        ty: P::TYPE,
        version: raw.version,
        path: error.path().to_string(),
        source: error.into_inner(),
    })
}
