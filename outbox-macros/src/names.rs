//! Names that are stored: event types and aggregate names.

use syn::LitStr;

use crate::collector::Collector;

/// The longest `type` of an event, in characters.
pub(crate) const EVENT_TYPE: usize = 128;
/// The longest `name` of an aggregate, in characters.
pub(crate) const AGGREGATE_NAME: usize = 64;

/// The prefix of the types that the outbox itself writes, such as `outbox.skipped`.
const RESERVED: &str = "outbox.";

pub(crate) fn check_event_type(ty: &LitStr, errors: &Collector) {
    if ty.value().starts_with(RESERVED) {
        errors.over(ty, format!("types that start with `{RESERVED}` are reserved for the outbox itself"));
    } else if let Err(problem) = check(&ty.value(), EVENT_TYPE) {
        errors.over(ty, format!("the type of an event {problem}"));
    }
}

pub(crate) fn check_aggregate_name(name: &LitStr, errors: &Collector) {
    if let Err(problem) = check(&name.value(), AGGREGATE_NAME) {
        errors.over(name, format!("the name of an aggregate {problem}"));
    }
}

fn check(text: &str, longest: usize) -> Result<(), String> {
    let length = text.chars().count();
    if length > longest {
        return Err(format!("has at most {longest} characters; this one has {length}"));
    }
    let Some(first) = text.chars().next() else {
        return Err("cannot be empty".into());
    };
    if !first.is_ascii_alphabetic() {
        return Err(format!("starts with an ASCII letter, not with `{}`", first.escape_debug()));
    }
    let stranger = text.chars().find(|found| !found.is_ascii_alphanumeric() && !matches!(found, '.' | '_' | '-'));
    match stranger {
        Some(found) => {
            Err(format!("consists of ASCII letters, digits, `.`, `_` and `-`; `{}` is none", found.escape_debug()))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names() {
        for name in ["a", "order.placed", "Order_2-x", &"x".repeat(64)] {
            assert_eq!(check(name, AGGREGATE_NAME), Ok(()), "{name}");
        }
        assert_eq!(check(&"x".repeat(128), EVENT_TYPE), Ok(()));
    }

    #[test]
    fn bad_names() {
        for name in ["", "1a", ".a", "a b", "ä", "aä", "a\0", "a/b", &"x".repeat(65)] {
            assert!(check(name, AGGREGATE_NAME).is_err(), "{name}");
        }
    }
}
