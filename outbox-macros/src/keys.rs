//! The grammar shared by all our attributes: `key`, `key = value` and `key(list)`, separated by commas.
//!
//! A wrong key or value is noted and skipped, so that the ones after it are still read. A key that is nearly
//! right is noted and then read as the key that was meant: one typo is one error, not also a missing key.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Ident, LitStr, Path, Token, ext::IdentExt as _, parse::ParseStream};

use crate::collector::Collector;

/// One key as written, and what it stands for.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) span: Span,
}

impl Key {
    /// Reads `= value`, or says what the key wants.
    pub(crate) fn equals(&self, input: ParseStream<'_>, example: &str) -> syn::Result<()> {
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            if !input.is_empty() && !input.peek(Token![,]) {
                return Ok(());
            }
        }
        Err(syn::Error::new(self.span, format!("`{}` needs a value: `{example}`", self.name)))
    }

    /// Reads `= "text"`.
    pub(crate) fn text(&self, input: ParseStream<'_>, example: &str) -> syn::Result<LitStr> {
        self.equals(input, example)?;
        if input.peek(LitStr) {
            return input.parse();
        }
        Err(input.error(format!("`{}` is a string: `{example}`", self.name)))
    }

    /// Reads `= name`.
    pub(crate) fn ident(&self, input: ParseStream<'_>, example: &str) -> syn::Result<Ident> {
        self.equals(input, example)?;
        refuse_text(input, example)?;
        let name: Ident = input
            .parse()
            .map_err(|error| syn::Error::new(error.span(), format!("`{}` is a name: `{example}`", self.name)))?;
        if input.peek(Token![::]) {
            return Err(input.error(format!("`{}` is one plain name, not a path: `{example}`", self.name)));
        }
        Ok(name)
    }

    /// Reads `= path`.
    pub(crate) fn path(&self, input: ParseStream<'_>, example: &str) -> syn::Result<Path> {
        self.equals(input, example)?;
        refuse_text(input, example)?;
        path(input, &format!("`{}` is a path: `{example}`", self.name))
    }

    /// Reads nothing: the key says it all.
    pub(crate) fn flag(&self, input: ParseStream<'_>) -> syn::Result<()> {
        if input.peek(Token![=]) || input.peek(syn::token::Paren) {
            return Err(input.error(format!("`{0}` takes no value: `{0}`", self.name)));
        }
        Ok(())
    }

    /// Reads `(list)`, handing the list to `inner`.
    pub(crate) fn list<T>(
        &self,
        input: ParseStream<'_>,
        example: &str,
        inner: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
    ) -> syn::Result<T> {
        if !input.peek(syn::token::Paren) {
            return Err(syn::Error::new(self.span, format!("`{}` is a list: `{example}`", self.name)));
        }
        parenthesized(input, inner)
    }
}

/// Reads `(…)`. Nothing is left over of a list that is wrong: syn would call the rest a second mistake.
pub(crate) fn parenthesized<T>(
    input: ParseStream<'_>,
    inner: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let content;
    syn::parenthesized!(content in input);
    let result = inner(&content);
    if result.is_err() {
        content.parse::<TokenStream>()?;
    }
    result
}

/// Reads the path of an item; `wanted` is the message if there is none.
pub(crate) fn path(input: ParseStream<'_>, wanted: &str) -> syn::Result<Path> {
    if !input.peek(Ident::peek_any) && !input.peek(Token![::]) {
        return Err(input.error(wanted));
    }
    input.parse()
}

fn refuse_text(input: ParseStream<'_>, example: &str) -> syn::Result<()> {
    if input.peek(LitStr) {
        return Err(input.error(format!("no quotes here: `{example}`")));
    }
    Ok(())
}

/// Reads all keys of an attribute; `value` reads what follows a key. Returns the keys that were met, also those
/// whose value is wrong: they are not missing.
pub(crate) fn each_key(
    input: ParseStream<'_>,
    valid: &[&'static str],
    errors: &Collector,
    mut value: impl FnMut(&Key, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<Vec<&'static str>> {
    let mut met = Vec::new();
    each_item(input, errors, |input| {
        let Some(key) = key(input, valid, errors) else { return skip_to_comma(input) };
        met.push(key.name);
        value(&key, input)
    })?;
    Ok(met)
}

/// Reads a list separated by commas. An item that is wrong is noted and skipped.
pub(crate) fn each_item(
    input: ParseStream<'_>,
    errors: &Collector,
    mut item: impl FnMut(ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    while !input.is_empty() {
        match item(input) {
            Ok(()) if input.is_empty() || input.peek(Token![,]) => {}
            Ok(()) => {
                errors.add(input.error("expected `,`"));
                // Only the comma is missing.
                if input.peek(Ident::peek_any) {
                    continue;
                }
            }
            Err(error) => errors.add(error),
        }
        skip_to_comma(input)?;
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

fn key(input: ParseStream<'_>, valid: &[&'static str], errors: &Collector) -> Option<Key> {
    let Ok(written) = input.call(Ident::parse_any) else {
        errors.add(input.error(format!("expected {}", one_of(valid))));
        return None;
    };
    let (text, span) = (written.unraw().to_string(), written.span());
    if let Some(name) = valid.iter().find(|name| **name == text) {
        return Some(Key { name, span });
    }
    let meant = nearest(&text, valid);
    let hint = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    errors.at(span, format!("unknown key `{text}`: {hint}expected {}", one_of(valid)));
    meant.map(|name| Key { name, span })
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

/// A value that may be given once.
#[derive(Debug)]
pub(crate) struct Once<T>(Option<T>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Once<T> {
    /// Keeps the first value. A second one is a mistake at its key.
    pub(crate) fn set(&mut self, key: &Key, value: T, errors: &Collector) {
        if self.0.is_some() {
            errors.at(key.span, format!("`{}` is given twice", key.name));
        } else {
            self.0 = Some(value);
        }
    }

    pub(crate) fn into_inner(self) -> Option<T> {
        self.0
    }
}

/// "`a`, `b` or `c`".
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

/// The name that was probably meant: at most two letters away, and nearer than a third of its length.
fn nearest<'n>(text: &str, names: &[&'n str]) -> Option<&'n str> {
    let scored = names.iter().map(|name| (distance(text, name), *name));
    let (distance, name) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= 2 && distance * 2 <= name.len()).then_some(name)
}

/// Levenshtein's distance, with neighbours swapped counted as two.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (row, left) in a.chars().enumerate() {
        let mut last = row + 1;
        let mut current = vec![last];
        for (pair, right) in previous.windows(2).zip(&b) {
            if let [diagonal, above] = pair {
                last = (diagonal + usize::from(left != *right)).min(above + 1).min(last + 1);
                current.push(last);
            }
        }
        previous = current;
    }
    previous.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_find_the_key_that_was_meant() {
        let valid = ["root", "name", "events", "reads", "version", "formerly", "nested", "crate"];
        for (typo, meant) in
            [("rot", "root"), ("nmae", "name"), ("event", "events"), ("read", "reads"), ("formely", "formerly")]
        {
            assert_eq!(nearest(typo, &valid), Some(meant), "{typo}");
        }
        assert_eq!(nearest("table", &valid), None);
        assert_eq!(nearest("", &valid), None);
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn choices_read_as_a_sentence() {
        assert_eq!(one_of(&[]), "");
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
