//! Mistakes of the past as patches, asleep until `tools/mutations` makes them again.

use super::Finding;
use crate::tree::Tree;
use std::collections::BTreeMap;

const FOLDER: &str = "tools/sim/mutations/";

/// A patch finds each of its places once all patches before it were put in: sources that went on
/// without it would leave a mistake that nobody can make again.
pub(crate) fn lost_patches(tree: &Tree) -> Vec<Finding> {
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    let mut findings = Vec::new();
    let is_patch = |path: &str| path.starts_with(FOLDER) && path.ends_with(".patch");
    for (path, patch) in tree.texts().filter(|(path, _)| is_patch(path)) {
        for (line, target, old, new) in hunks(patch) {
            let original = || tree.text(target).unwrap_or_default().to_owned();
            let source = sources.entry(target).or_insert_with(original);
            match source.find(&old) {
                Some(_) => *source = source.replacen(&old, &new, 1),
                None => {
                    let message = format!("{target} has no such lines; put the patch right");
                    findings.push(Finding::new(path, line, "lost-patch", message));
                }
            }
        }
    }
    findings
}

/// The places that a patch changes: line of the patch, file, lines of before and lines of after.
fn hunks(patch: &str) -> Vec<(usize, &str, String, String)> {
    let mut found: Vec<(usize, &str, String, String)> = Vec::new();
    let mut target = "";
    for (index, line) in patch.lines().enumerate() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            target = path;
        } else if line.starts_with("@@") {
            // A place begins at the head of a line.
            found.push((index + 1, target, "\n".to_owned(), "\n".to_owned()));
        } else if !line.starts_with("--- a/")
            && let Some((_, _, old, new)) = found.last_mut()
        {
            let (mark, text) = line.split_at_checked(1).unwrap_or((" ", ""));
            if mark != "+" {
                old.extend([text, "\n"]);
            }
            if mark != "-" {
                new.extend([text, "\n"]);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::strikes;
    use super::*;

    #[test]
    fn patches_find_their_places_in_order() {
        let source = ("a.rs", "fn a() {\n    b();\n    c();\n}\n");
        let first = "--- a/a.rs\n+++ b/a.rs\n@@ -2,2 +2,2 @@\n-    b();\n+    d();\n     c();\n";
        let second = "--- a/a.rs\n+++ b/a.rs\n@@ -2,1 +2,2 @@\n     d();\n+    e();\n";
        let first = ("tools/sim/mutations/01-first.patch", first);
        let second = ("tools/sim/mutations/02-second.patch", second);
        assert_eq!(strikes(lost_patches, &[source, first, second]), [""; 0]);
        let alone = strikes(lost_patches, &[source, second]);
        assert_eq!(alone, ["tools/sim/mutations/02-second.patch:3"]);
    }
}
