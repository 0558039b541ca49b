//! What the macros generate, compared with `snapshots/`. The inputs are the files that `tests/ui/pass` compiles;
//! `UPDATE_EXPECT=1 cargo test -p outbox-macros` rewrites the snapshots.

#![allow(clippy::expect_used, clippy::panic)]

use std::{fs, path::Path};

use expect_test::expect_file;
use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Attribute, Item, Meta};

#[test]
fn expansions() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let inputs = here.join("../tests/ui/pass");
    let mut files: Vec<_> = fs::read_dir(&inputs)
        .expect("the passing ui files are beside this crate")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut known = Vec::new();
    for path in files {
        let source = fs::read_to_string(&path).expect("a readable file");
        let file = syn::parse_file(&source).expect("a Rust file");
        let mut generated = TokenStream::new();
        expand_items(&file.items, &mut generated);
        assert!(!generated.is_empty(), "{} uses no macro", path.display());
        let pretty = prettyplease::unparse(&syn::parse2(generated).expect("the macros generate items"));
        assert!(!pretty.contains("compile_error"), "{} is refused:\n{pretty}", path.display());
        // The file compiles with the usual path too, so only its text can tell.
        let renamed = path.ends_with("crate_override.rs");
        assert!(!renamed || !pretty.contains("outbox_runtime"), "a path ignores `crate = …`:\n{pretty}");
        let name = path.file_name().expect("a file has a name").to_owned();
        expect_file![here.join("snapshots").join(&name)].assert_eq(&pretty);
        known.push(name);
    }
    for entry in fs::read_dir(here.join("snapshots")).expect("the snapshots") {
        let name = entry.expect("a readable entry").file_name();
        assert!(known.contains(&name), "{} has no input any more", Path::new(&name).display());
    }
}

/// Expands our macros on these items and on those inside their modules, in their order.
fn expand_items(items: &[Item], generated: &mut TokenStream) {
    for item in items {
        let attributes = match item {
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Mod(item) => {
                let (_, items) = item.content.as_ref().expect("an inline module");
                expand_items(items, generated);
                continue;
            }
            _ => continue,
        };
        let tokens = item.to_token_stream();
        if derives(attributes, "DomainEvent") {
            generated.extend(crate::event::derive(tokens.clone()));
        }
        if derives(attributes, "EventSet") {
            generated.extend(crate::event_set::derive(tokens));
        }
        if let (Some(args), Item::Struct(entity)) = (aggregate(attributes), item) {
            // The entity itself is printed without its body, which is handed on unchanged.
            let (vis, ident) = (&entity.vis, &entity.ident);
            let others = attributes.iter().filter(|attribute| !last_is(attribute.path(), "aggregate"));
            generated.extend(crate::aggregate::attribute(args, &quote::quote!(#(#others)* #vis struct #ident;)));
        }
    }
}

fn aggregate(attributes: &[Attribute]) -> Option<TokenStream> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::List(list) if last_is(&list.path, "aggregate") => Some(list.tokens.clone()),
        _ => None,
    })
}

fn derives(attributes: &[Attribute], name: &str) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        attribute
            .parse_nested_meta(|derive| {
                found |= last_is(&derive.path, name);
                Ok(())
            })
            .expect("a list of derives");
    }
    found
}

fn last_is(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name)
}
