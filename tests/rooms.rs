//! Which room of the library may use which: data flows one way, so that producer, relay and consumer may be three
//! programs.

use std::{fs, path::Path};

/// Room, and the rooms that it may name in `use crate::…`.
const MAY_USE: [(&str, &[&str]); 6] = [
    ("event", &["event"]),
    ("store", &["store", "event", "observe", "waits"]),
    ("aggregate", &["aggregate", "store", "event", "observe", "waits"]),
    ("publish", &["publish", "event", "consume", "observe", "waits"]),
    ("relay", &["relay", "publish", "store", "event", "observe", "waits"]),
    ("consume", &["consume", "store", "event", "observe", "waits"]),
];

#[test]
fn rooms_use_only_what_is_upstream() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../outbox-runtime/src");
    let mut wrong = Vec::new();
    for (room, allowed) in MAY_USE {
        visit(&source.join(room), &mut |file, text| {
            for used in rooms_used(text) {
                if !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{}: {room} uses {used}", file.display()));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sql_stands_in_the_dialects_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../outbox-runtime/src");
    let mut wrong = Vec::new();
    visit(&source, &mut |file, text| {
        if file.components().any(|part| part.as_os_str() == "dialect") {
            return;
        }
        for (nth, line) in text.lines().enumerate() {
            let is_code = !line.trim_start().starts_with("//");
            let words = ["\"SELECT ", "\"INSERT ", "\"UPDATE ", "\"DELETE ", "\"SAVEPOINT", "\"WITH "];
            if is_code && words.iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}:{}", file.display(), nth + 1));
            }
        }
    });
    assert!(wrong.is_empty(), "hand-written SQL outside store/dialect: {wrong:?}");
}

fn visit(path: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, look);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            look(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names after `crate::`, also inside `use crate::{a::…, b::…}`.
fn rooms_used(text: &str) -> Vec<String> {
    let name = |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut used = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let line_start = text[..at].rfind('\n').map_or(0, |nth| nth + 1);
        if text[line_start..at].trim_start().starts_with("//") {
            continue;
        }
        let after = &text[at + "crate::".len()..];
        let Some(group) = after.strip_prefix('{') else {
            used.push(name(after));
            continue;
        };
        let mut depth = 0_usize;
        let mut item = String::new();
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    used.push(name(item.trim()));
                    item.clear();
                    continue;
                }
                _ => {}
            }
            item.push(c);
        }
        used.push(name(item.trim()));
    }
    used.retain(|name| !name.is_empty());
    used
}
