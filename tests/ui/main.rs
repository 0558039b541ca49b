//! The messages for each mistake, one a file. They are compared word by word, so they hold for one compiler
//! version; `TRYBUILD=overwrite cargo test -p outbox-ui-tests` rewrites them.

use std::{fs, path::Path};

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}

/// A file that is not a module of the library would not be compiled at all.
#[test]
fn every_passing_file_is_compiled() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(here.join("lib.rs"))?;
    for entry in fs::read_dir(here.join("pass"))? {
        let name = entry?.file_name();
        let line = format!("#[path = \"pass/{}\"]", name.display());
        assert!(library.contains(&line), "{} is not in lib.rs", name.display());
    }
    Ok(())
}
