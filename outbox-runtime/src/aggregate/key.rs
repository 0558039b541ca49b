//! The aggregate id: the primary key as text.

use sea_orm::{
    Value,
    sea_query::{OptionEnum, ValueTuple},
};

use super::SaveError;
use crate::event::MAX_AGGREGATE_ID;

/// Parts of a composite key are joined by `/`, with `~` written `~0` and `/` written `~1` inside a part
/// (as in JSON Pointer, RFC 6901). A single key is taken as it is.
pub(super) fn encode(aggregate: &'static str, key: ValueTuple) -> Result<String, SaveError> {
    let unsupported = |found: &Value| SaveError::Key {
        aggregate,
        problem: format!("its type is not supported: {found:?}; use an integer, text, UUID or enum key"),
    };
    let mut parts = Vec::new();
    for value in key {
        parts.push(part(&value).ok_or_else(|| unsupported(&value))?);
    }
    let id = match <[String; 1]>::try_from(parts) {
        Ok([single]) => single,
        Err(parts) => parts.iter().map(|part| part.replace('~', "~0").replace('/', "~1")).collect::<Vec<_>>().join("/"),
    };
    let length = id.chars().count();
    if length > MAX_AGGREGATE_ID {
        let problem = format!("it has {length} characters, at most {MAX_AGGREGATE_ID} are stored");
        return Err(SaveError::Key { aggregate, problem });
    }
    if id.contains('\0') {
        return Err(SaveError::Key { aggregate, problem: "it contains the character U+0000".into() });
    }
    Ok(id)
}

fn part(value: &Value) -> Option<String> {
    Some(match value {
        Value::TinyInt(Some(n)) => n.to_string(),
        Value::SmallInt(Some(n)) => n.to_string(),
        Value::Int(Some(n)) => n.to_string(),
        Value::BigInt(Some(n)) => n.to_string(),
        Value::TinyUnsigned(Some(n)) => n.to_string(),
        Value::SmallUnsigned(Some(n)) => n.to_string(),
        Value::Unsigned(Some(n)) => n.to_string(),
        Value::BigUnsigned(Some(n)) => n.to_string(),
        Value::Bool(Some(b)) => b.to_string(),
        Value::Char(Some(c)) => c.to_string(),
        Value::String(Some(text)) => text.clone(),
        Value::Uuid(Some(id)) => id.to_string(),
        Value::Enum(OptionEnum::Some(e)) => e.value.to_string(),
        Value::ChronoDate(Some(date)) => date.to_string(),
        _ => return None,
    })
}
