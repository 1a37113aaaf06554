//! The repository as rules see it: paths and texts in memory, so that a rule's test needs no files.

use crate::code::Code;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Folders that hold nothing of ours: build output, data, dependencies, hidden tools.
const SKIPPED: [&str; 5] = ["target", "node_modules", "foliot-data", "testdata", "dist"];
/// What counts as text that people write.
const TEXT: [&str; 11] =
    ["rs", "toml", "md", "sh", "ts", "css", "html", "txt", "yml", "yaml", "patch"];

/// One file.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Empty for files that are not text.
    pub(crate) text: String,
    /// Of Rust files.
    pub(crate) code: Option<Code>,
}

/// All files by path relative to the root, with `/` between folders.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads the repository at `root`.
    pub(crate) fn load(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.load_folder(root, "")?;
        Ok(tree)
    }

    fn load_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci";
                if !hidden && !SKIPPED.contains(&name.as_str()) {
                    self.load_folder(&entry.path(), &format!("{path}/"))?;
                } else {
                    // Links may point at it although its content is not checked.
                    self.files.insert(format!("{path}/."), File::default());
                }
            } else if is_text(&path) {
                let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
                self.insert(&path, &text);
            } else {
                self.files.insert(path, File::default());
            }
        }
        Ok(())
    }

    /// A tree of the given texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        files.iter().for_each(|(path, text)| tree.insert(path, text));
        tree
    }

    fn insert(&mut self, path: &str, text: &str) {
        let code = path.ends_with(".rs").then(|| Code::read(path, text));
        self.files.insert(path.to_owned(), File { text: text.to_owned(), code });
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| file.text.as_str())
    }

    /// Whether there is a file or folder at `path`; the empty path is the root.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// All texts with their paths.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file.text.as_str()))
    }

    /// All Rust files with their paths.
    pub(crate) fn codes(&self) -> impl Iterator<Item = (&str, &Code)> {
        self.files.iter().filter_map(|(path, file)| Some((path.as_str(), file.code.as_ref()?)))
    }

    /// The packages: each folder with a manifest, save the root.
    pub(crate) fn packages(&self) -> impl Iterator<Item = Package<'_>> {
        self.texts().filter_map(|(path, manifest)| {
            Some(Package { folder: path.strip_suffix("/Cargo.toml")?, manifest })
        })
    }
}

/// A package of the workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package<'a> {
    /// Its folder, as `crates/model`.
    pub(crate) folder: &'a str,
    /// The text of its Cargo.toml.
    pub(crate) manifest: &'a str,
}

impl<'a> Package<'a> {
    /// The last part of the folder's path: the room's name.
    pub(crate) fn room(&self) -> &'a str {
        self.folder.rsplit('/').next().unwrap_or(self.folder)
    }
}

/// The room that a path belongs to: `model` for `crates/model/src/lib.rs`.
pub(crate) fn room_of(path: &str) -> Option<&str> {
    let mut parts = path.split('/');
    match parts.next()? {
        "crates" | "tools" => parts.next(),
        "tests" => Some("tests"),
        _ => None,
    }
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => TEXT.contains(&extension),
        None => matches!(name, "Makefile" | "run" | "Dockerfile"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_through_their_files() {
        let tree = Tree::of(&[("docs/format/wal.md", ""), ("crates/a/Cargo.toml", "x")]);
        assert!(tree.exists("docs") && tree.exists("docs/format/") && tree.exists("crates/a"));
        assert!(!tree.exists("doc") && !tree.exists("docs/format/wal"));
        let rooms: Vec<_> = tree.packages().map(|package| package.room()).collect();
        assert_eq!(rooms, ["a"]);
    }

    #[test]
    fn the_repository_itself_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tree = Tree::load(&root).unwrap();
        assert!(tree.exists("tools/xtask/src/tree.rs") && tree.exists("Cargo.toml"));
        assert!(!tree.texts().any(|(path, _)| path.starts_with("target/") && path != "target/."));
    }
}
