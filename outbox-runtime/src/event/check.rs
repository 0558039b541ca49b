//! What no database will take is refused at `emit`, before any SQL.
//!
//! `serde_json` writes NaN and infinities as `null`, so they are looked for while serializing; the rest is
//! looked for in the finished JSON.

use std::fmt;

use serde::ser::{self, Serialize};
use serde_json::Value;

/// How deep objects and arrays of a payload may nest. `serde_json` reads 128 levels; the envelope and
/// structured wire formats need some of them.
pub const MAX_PAYLOAD_DEPTH: usize = 100;

/// Why a payload cannot be stored.
///
/// ```
/// use outbox_runtime::PayloadError;
///
/// let error = PayloadError::NotFinite { path: "price".into() };
/// assert!(error.to_string().contains("price"));
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// JSON has no NaN and no infinities.
    #[error("`{path}` is NaN or infinite, which JSON cannot hold: use an `Option` or check the value before `emit`")]
    NotFinite {
        /// Where in the payload.
        path: String,
    },
    /// `PostgreSQL`'s `jsonb` refuses U+0000.
    #[error("`{path}` contains the character U+0000, which PostgreSQL cannot store: remove it before `emit`")]
    Nul {
        /// Where in the payload; for a key, its object.
        path: String,
    },
    /// Deeper than [`MAX_PAYLOAD_DEPTH`].
    #[error("`{path}` is nested deeper than {MAX_PAYLOAD_DEPTH} levels: flatten the payload")]
    TooDeep {
        /// Where the limit was passed.
        path: String,
    },
    /// The payload's own `Serialize` failed, or a map key is not a string, or an integer exceeds 64 bits.
    #[error("`{path}` cannot be written as JSON: {message}")]
    Serialize {
        /// Where in the payload.
        path: String,
        /// What the serializer said.
        message: String,
    },
}

/// The payload as JSON, if every supported database can hold it and the consumer can read it back.
pub(crate) fn to_checked_value<T: Serialize>(payload: &T) -> Result<Value, PayloadError> {
    let mut track = serde_path_to_error::Track::new();
    let probe = serde_path_to_error::Serializer::new(FiniteProbe, &mut track);
    if payload.serialize(probe) == Err(Stop::NotFinite) {
        return Err(PayloadError::NotFinite { path: track.path().to_string() });
    }
    // Anything else the probe met is met again here, with serde_json's own words for it.
    let mut track = serde_path_to_error::Track::new();
    let serializer = serde_path_to_error::Serializer::new(serde_json::value::Serializer, &mut track);
    let value = payload
        .serialize(serializer)
        .map_err(|error| PayloadError::Serialize { path: track.path().to_string(), message: error.to_string() })?;
    check(&value, &mut Vec::new())?;
    Ok(value)
}

fn check<'v>(value: &'v Value, path: &mut Vec<Step<'v>>) -> Result<(), PayloadError> {
    if path.len() >= MAX_PAYLOAD_DEPTH && matches!(value, Value::Array(_) | Value::Object(_)) {
        return Err(PayloadError::TooDeep { path: render(path) });
    }
    match value {
        Value::String(text) if text.contains('\0') => Err(PayloadError::Nul { path: render(path) }),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            path.push(Step::Index(index));
            check(item, path)?;
            path.pop();
            Ok(())
        }),
        Value::Object(fields) => fields.iter().try_for_each(|(key, item)| {
            if key.contains('\0') {
                return Err(PayloadError::Nul { path: render(path) });
            }
            path.push(Step::Key(key));
            check(item, path)?;
            path.pop();
            Ok(())
        }),
        _ => Ok(()),
    }
}

enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

fn render(path: &[Step<'_>]) -> String {
    use fmt::Write as _;
    let mut text = String::new();
    for step in path {
        // Writing to a `String` cannot fail.
        let _ = match step {
            Step::Key(key) if text.is_empty() => write!(text, "{key}"),
            Step::Key(key) => write!(text, ".{key}"),
            Step::Index(index) => write!(text, "[{index}]"),
        };
    }
    if text.is_empty() { ".".into() } else { text }
}

/// Serializes into nothing and stops at the first float that is not finite.
#[derive(Clone, Copy)]
struct FiniteProbe;

#[derive(Debug, PartialEq)]
enum Stop {
    NotFinite,
    Other,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not finite")
    }
}
impl std::error::Error for Stop {}
impl ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

macro_rules! ignore {
    ($($method:ident: $ty:ty),* $(,)?) => {
        $(fn $method(self, _: $ty) -> Result<(), Stop> { Ok(()) })*
    };
}

impl ser::Serializer for FiniteProbe {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    ignore! {
        serialize_bool: bool,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_char: char, serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Stop> {
        if value.is_finite() { Ok(()) } else { Err(Stop::NotFinite) }
    }
    fn serialize_f64(self, value: f64) -> Result<(), Stop> {
        if value.is_finite() { Ok(()) } else { Err(Stop::NotFinite) }
    }
    fn serialize_none(self) -> Result<(), Stop> {
        Ok(())
    }
    fn serialize_unit(self) -> Result<(), Stop> {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Stop> {
        Ok(self)
    }
    fn serialize_tuple(self, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }
    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self, Stop> {
        Ok(self)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }
    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }
    // serde_json's human-readable forms (text for UUIDs, dates) must be the ones probed.
    fn is_human_readable(&self) -> bool {
        true
    }
}

macro_rules! compound {
    ($($trait:ident { $($method:ident),* })*) => {
        $(impl ser::$trait for FiniteProbe {
            type Ok = ();
            type Error = Stop;
            $(fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
                value.serialize(Self)
            })*
            fn end(self) -> Result<(), Stop> { Ok(()) }
        })*
    };
}
compound! {
    SerializeSeq { serialize_element }
    SerializeTuple { serialize_element }
    SerializeTupleStruct { serialize_field }
    SerializeTupleVariant { serialize_field }
    SerializeMap { serialize_key, serialize_value }
}

macro_rules! compound_named {
    ($($trait:ident),*) => {
        $(impl ser::$trait for FiniteProbe {
            type Ok = ();
            type Error = Stop;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Stop> {
                value.serialize(Self)
            }
            fn end(self) -> Result<(), Stop> { Ok(()) }
        })*
    };
}
compound_named!(SerializeStruct, SerializeStructVariant);
