//! No input makes a macro panic: every right and wrong input of the ui tests, with each of its tokens missing,
//! doubled or the last.

#![allow(clippy::expect_used)]

use std::{fs, path::Path};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, Item, Meta};

#[test]
fn no_input_panics() {
    let mut attributes = Vec::new();
    for folder in ["pass", "fail"] {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui").join(folder);
        for entry in fs::read_dir(inputs).expect("the ui files are beside this crate") {
            let path = entry.expect("a readable entry").path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(path).expect("a readable file");
                collect(&syn::parse_file(&source).expect("a Rust file").items, &mut attributes);
            }
        }
    }
    assert!(attributes.len() > 100, "found {}", attributes.len());
    for (name, args) in attributes {
        for args in variations(&args) {
            if name == "aggregate" {
                crate::aggregate::attribute(
                    args.clone(),
                    &quote!(
                        #[sea_orm(table_name = "orders")]
                        pub struct Model {}
                    ),
                );
                crate::aggregate::attribute(quote!(root = Order), &args);
            } else {
                crate::event::derive(quote!(
                    #[event(#args)]
                    struct OrderPlaced {}
                ));
                crate::event::derive(quote!(
                    #[event(type = "a", version = 1)]
                    #[changed(#args)]
                    struct OrderPlaced {}
                ));
                crate::event_set::derive(quote!(
                    #[event(#args)]
                    enum OrderEvent {
                        Placed(OrderPlaced),
                    }
                ));
                crate::event_set::derive(quote!(enum OrderEvent { #args }));
            }
        }
    }
}

fn collect(items: &[Item], found: &mut Vec<(String, TokenStream)>) {
    for item in items {
        let attributes: &[Attribute] = match item {
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Mod(item) => {
                collect(item.content.as_ref().map_or(&[], |(_, items)| items), found);
                continue;
            }
            _ => continue,
        };
        for attribute in attributes {
            if let (Meta::List(list), Some(name)) = (&attribute.meta, attribute.path().get_ident()) {
                found.push((name.to_string(), list.tokens.clone()));
            }
        }
    }
}

/// The tokens as they are, and with one change each, inside groups too.
fn variations(tokens: &TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut all = vec![tokens.iter().cloned().collect()];
    for (index, token) in tokens.iter().enumerate() {
        let (before, rest) = tokens.split_at(index);
        let after = rest.get(1..).unwrap_or_default();
        let with = |middle: &[TokenTree]| before.iter().chain(middle).chain(after).cloned().collect::<TokenStream>();
        all.push(before.iter().cloned().collect());
        all.push(with(&[]));
        all.push(with(&[token.clone(), token.clone()]));
        all.push(with(&[Group::new(Delimiter::None, token.clone().into()).into()]));
        if let TokenTree::Group(group) = token {
            for inner in variations(&group.stream()) {
                all.push(with(&[Group::new(group.delimiter(), inner).into()]));
            }
        }
    }
    all
}
