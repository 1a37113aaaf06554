//! Which room may know which: Cargo's edges against the table in ARCHITECTURE.md.

use super::Finding;
use crate::tree::{Package, Tree};
use std::collections::BTreeMap;

const TABLE_FILE: &str = "ARCHITECTURE.md";
const TABLE_START: &str = "<!-- edges -->";
const TABLE_END: &str = "<!-- /edges -->";

/// Names that say nothing: what is in such a room belongs to its first user.
const VAGUE_ROOMS: [&str; 9] =
    ["common", "util", "utils", "core", "types", "base", "helpers", "shared", "misc"];

/// Every dependency on another room must stand in the table. Dev-dependencies are free: tests may
/// use any room to check another.
pub(crate) fn cargo_edges(tree: &Tree) -> Vec<Finding> {
    let rule = "edges";
    let table = match Table::read(tree) {
        Ok(table) => table,
        Err(finding) => return vec![finding],
    };
    let mut findings = Vec::new();
    for package in tree.packages() {
        let manifest = format!("{}/Cargo.toml", package.folder);
        for (line, dependency) in room_dependencies(&package) {
            if !table.allows(package.room(), &dependency) {
                let message = format!(
                    "{} may not depend on {dependency}: {TABLE_FILE} has no such edge; turn the \
                     dependency round, or decide the new edge in docs/decisions",
                    package.room(),
                );
                findings.push(Finding::new(&manifest, line, rule, message));
            }
        }
    }
    findings
}

/// A package is named after its folder: `crates/model` holds `foliot-model`.
pub(crate) fn folder_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in tree.packages() {
        let name = package.manifest.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "name").then(|| value.trim().trim_matches('"'))
        });
        let expected = match package.room() {
            "foliot" => "foliot".to_owned(),
            room => format!("foliot-{room}"),
        };
        if name != Some(&expected) {
            let message = format!("the package must be named {expected}, after its folder");
            let path = format!("{}/Cargo.toml", package.folder);
            findings.push(Finding::new(&path, 0, "folder-name", message));
        }
    }
    findings
}

/// Every room stands in the table, and none has a name that says nothing.
pub(crate) fn room_names(tree: &Tree) -> Vec<Finding> {
    let Ok(table) = Table::read(tree) else { return Vec::new() };
    let mut findings = Vec::new();
    for package in tree.packages() {
        let room = package.room();
        let path = format!("{}/Cargo.toml", package.folder);
        if VAGUE_ROOMS.contains(&room) || room.ends_with(|c: char| c.is_ascii_digit()) {
            let message = format!("{room} says nothing; give the room the name of its one duty");
            findings.push(Finding::new(&path, 0, "room-name", message));
        } else if table.row(room).is_none() {
            let message = format!("{room} is missing in the table of {TABLE_FILE}; add its row");
            findings.push(Finding::new(&path, 0, "room-name", message));
        }
    }
    findings
}

/// The table: for each room the rooms it may depend on. A name may end in `*`.
struct Table {
    rows: BTreeMap<String, Vec<String>>,
}

impl Table {
    fn read(tree: &Tree) -> Result<Self, Finding> {
        let error = |message: &str| Finding::new(TABLE_FILE, 0, "edges", message);
        let text = tree.text(TABLE_FILE).ok_or_else(|| error("the file is missing"))?;
        let inside = text
            .split_once(TABLE_START)
            .and_then(|(_, rest)| rest.split_once(TABLE_END))
            .ok_or_else(|| error("the table between the `edges` markers is missing"))?
            .0;
        let mut rows = BTreeMap::new();
        for line in inside.lines().map(str::trim) {
            if line.is_empty() || line.starts_with("```") {
                continue;
            }
            let Some((room, allowed)) = line.split_once(':') else {
                return Err(error(&format!("`{line}` must read `room: dependency …`")));
            };
            let allowed = allowed.split_whitespace().map(str::to_owned).collect();
            rows.insert(room.trim().to_owned(), allowed);
        }
        Ok(Self { rows })
    }

    fn row(&self, room: &str) -> Option<&Vec<String>> {
        let mut rows = self.rows.iter();
        self.rows.get(room).or_else(|| rows.find(|(pattern, _)| fits(pattern, room)).map(|r| r.1))
    }

    fn allows(&self, room: &str, dependency: &str) -> bool {
        let row = self.row(room);
        row.is_some_and(|row| row.iter().any(|pattern| fits(pattern, dependency)))
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// The rooms that a package depends on, with the manifest's lines, without dev-dependencies.
fn room_dependencies(package: &Package<'_>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut counts = false;
    for (index, line) in package.manifest.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let header = line.starts_with('[');
        if header {
            counts = line.contains("dependencies") && !line.contains("dev-dependencies");
        }
        if !counts {
            continue;
        }
        let mut rooms: Vec<&str> = line
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
            .filter_map(|word| word.strip_prefix("foliot-").or((word == "foliot").then_some(word)))
            .collect();
        rooms.dedup();
        found.extend(rooms.into_iter().map(|room| (index + 1, room.to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::strikes;
    use super::*;

    const TABLE: (&str, &str) = (
        "ARCHITECTURE.md",
        "x\n<!-- edges -->\n```\nmodel:\nplan: model\nproto-*: model plan\nserver: proto-* plan\n\
         foliot: server\n```\n<!-- /edges -->\n",
    );

    fn edges(path: &str, manifest: &str) -> Vec<String> {
        strikes(cargo_edges, &[TABLE, (path, manifest)])
    }

    #[test]
    fn edges_outside_the_table_are_forbidden() {
        let plan = "crates/plan/Cargo.toml";
        let strike = ["crates/plan/Cargo.toml:2"];
        assert!(edges(plan, "[dependencies]\nfoliot-model.workspace = true\n").is_empty());
        assert_eq!(edges(plan, "[dependencies]\nfoliot-server.workspace = true\n"), strike);
        assert_eq!(edges(plan, "[dependencies]\nx = { package = \"foliot-server\" }\n"), strike);
        assert_eq!(
            edges(plan, "[target.'cfg(unix)'.dependencies]\nfoliot-server = \"1\"\n"),
            strike
        );
        assert_eq!(edges(plan, "x\n[build-dependencies.foliot-server]\nversion = \"1\"\n"), strike);
        assert!(edges(plan, "[dev-dependencies]\nfoliot-server.workspace = true\n").is_empty());
        assert!(edges(plan, "[dependencies]\n# foliot-server = \"1\"\nlog = \"1\"\n").is_empty());
        let unknown = edges("crates/new/Cargo.toml", "[dependencies]\nfoliot-model = \"1\"\n");
        assert_eq!(unknown, ["crates/new/Cargo.toml:2"]);
    }

    #[test]
    fn stars_stand_for_sibling_rooms() {
        let to_model = "[dependencies]\nfoliot-model = \"1\"\n";
        let to_sibling = "[dependencies]\nfoliot-proto-influx = \"1\"\n";
        assert!(edges("crates/proto-opentsdb/Cargo.toml", to_model).is_empty());
        assert_eq!(edges("crates/proto-opentsdb/Cargo.toml", to_sibling).len(), 1);
        assert!(edges("crates/server/Cargo.toml", to_sibling).is_empty());
    }

    #[test]
    fn a_missing_or_broken_table_is_a_breach() {
        assert_eq!(strikes(cargo_edges, &[]), ["ARCHITECTURE.md:0"]);
        assert_eq!(strikes(cargo_edges, &[("ARCHITECTURE.md", "no table")]).len(), 1);
        let broken = "<!-- edges -->\nmodel plan\n<!-- /edges -->";
        assert_eq!(strikes(cargo_edges, &[("ARCHITECTURE.md", broken)]).len(), 1);
    }

    #[test]
    fn packages_are_named_after_their_folders() {
        let name = |path, name| {
            let manifest = format!("[package]\nname = \"{name}\"\n");
            strikes(folder_names, &[(path, &manifest)]).len()
        };
        assert_eq!(name("crates/plan/Cargo.toml", "foliot-plan"), 0);
        assert_eq!(name("crates/foliot/Cargo.toml", "foliot"), 0);
        assert_eq!(name("crates/plan/Cargo.toml", "plan"), 1);
        assert_eq!(name("crates/plan/Cargo.toml", "foliot-planner"), 1);
    }

    #[test]
    fn rooms_need_a_row_and_a_telling_name() {
        let room = |room: &str| {
            let table = TABLE.1.replace("model:\n", "model:\nutil:\nengine2:\n");
            let path = format!("crates/{room}/Cargo.toml");
            strikes(room_names, &[("ARCHITECTURE.md", &table), (&path, "")]).len()
        };
        assert_eq!(["model", "proto-influx"].map(room), [0, 0]);
        assert_eq!(["unheard", "util", "engine2"].map(room), [1, 1, 1]);
    }
}
