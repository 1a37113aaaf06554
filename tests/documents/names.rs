//! Names in documents that are names in the code.

use crate::harness::foliot;
use crate::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What ends a file's name, not a setting's.
const ENDINGS: [&str; 16] = [
    "c", "conf", "css", "html", "java", "js", "json", "log", "md", "pem", "png", "py", "rs", "sh",
    "toml", "yml",
];

/// What looks like a setting and is an example of a name.
const EXAMPLES: [&str; 13] = [
    "cpu",
    "df",
    "evil",
    "foliot",
    "greenhouse",
    "inputs",
    "m",
    "measurement",
    "outputs",
    "proc",
    "process",
    "soil",
    "update",
];

/// Every `section.key` that a document names is in the configuration's reference.
pub(crate) fn settings_exist() {
    let output = foliot().args(["config", "docs"]).output().unwrap();
    let reference = String::from_utf8(output.stdout).unwrap();
    let keys: BTreeSet<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).collect();
    assert!(keys.len() > 50, "{keys:?}");
    let sections: BTreeSet<&str> =
        keys.iter().filter_map(|key| Some(key.split_once('.')?.0)).collect();
    let mut unknown = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for word in dotted(&text) {
            let (section, key) = word.split_once('.').unwrap();
            // Outside of code the end of a sentence may look like one.
            let is_meant = sections.contains(section)
                || text.contains(&format!("`{word}`")) && !EXAMPLES.contains(&section);
            if is_meant && !ENDINGS.contains(&key) && !keys.contains(word) {
                unknown.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "no such settings:\n{}", unknown.join("\n"));
    let text = "`wal.ack` and wal.sync,`limits.*`; tsd.http.request and `wal.rs`.";
    assert_eq!(dotted(text).collect::<Vec<_>>(), ["wal.ack", "wal.sync", "wal.rs"]);
}

/// Words of two parts with a point between them.
fn dotted(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_./-*".contains(c)));
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    words.map(|word| word.trim_end_matches('.')).filter(move |word| {
        let parts = word.split_once('.');
        parts.is_some_and(|(section, key)| {
            [section, key].iter().all(|part| !part.is_empty() && part.chars().all(is_part))
        })
    })
}

/// Every kind of fact that the code writes is on the catalog's page.
pub(crate) fn facts_are_named() {
    let page = std::fs::read_to_string(root().join("docs/format/catalog.md")).unwrap();
    let mut kinds = BTreeSet::new();
    for path in files(&root().join("crates"), "rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.contains("KIND: &str = \"")) {
            let kind = line.split('"').nth(1).unwrap().to_owned();
            assert!(page.contains(&format!("\n| `{kind}` |")), "{}: {kind}", path.display());
            kinds.insert(kind);
        }
    }
    assert!(kinds.contains("clock") && kinds.contains("annotation"), "{kinds:?}");
}

/// All documents that speak of what is. The changelog and decisions also name what was.
fn documents() -> Vec<PathBuf> {
    let mut all = files(&root().join("docs"), "md");
    all.retain(|path| !path.starts_with(root().join("docs/decisions")));
    all.extend(["README.md", "ARCHITECTURE.md", "SECURITY.md"].map(|name| root().join(name)));
    all
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
