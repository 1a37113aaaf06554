//! Links in documents that point nowhere.

use super::Finding;
use crate::tree::Tree;

/// Every relative link in a Markdown file leads to a file or folder and, with `#`, to a heading.
pub(crate) fn dead_links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text) {
            if let Some(message) = dead_reason(tree, path, target) {
                findings.push(Finding::new(path, line, "dead-link", message));
            }
        }
    }
    findings
}

/// Why a link leads nowhere; nothing when it is alive or leaves the repository.
fn dead_reason(tree: &Tree, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.to_owned(),
        _ => match resolve(from, file).filter(|path| tree.exists(path)) {
            Some(path) => path,
            None => return Some(format!("{target}: there is no such file or folder")),
        },
    };
    let text = tree.text(&path).filter(|_| path.ends_with(".md"))?;
    let found = anchor.is_empty() || anchors(text).iter().any(|heading| heading == anchor);
    (!found).then(|| format!("{target}: {path} has no heading #{anchor}"))
}

/// The path that `file`, written in the document `from`, means; nothing when it leaves the tree.
fn resolve(from: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = match file.starts_with('/') {
        true => Vec::new(),
        false => from.split('/').collect(),
    };
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The targets of `[text](target)` and `[name]: target`, with lines, outside of code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        // Every second piece between backticks is code.
        for piece in text.split('`').step_by(2) {
            let inline = piece.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
            found.extend(inline.map(|target| (line, target)));
        }
        let reference = text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        if let Some(target) = reference.and_then(|(_, rest)| rest.split_whitespace().next()) {
            found.push((line, target));
        }
    }
    found
}

/// The anchors of a document's headings, as the usual viewers make them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept =
            title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let slug = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let earlier = found.iter().filter(|other| **other == slug).count();
        found.push(if earlier == 0 { slug } else { format!("{slug}-{earlier}") });
    }
    found
}

/// The lines outside fenced code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::super::strikes;
    use super::*;

    fn strike(text: &str) -> usize {
        let files = [
            ("docs/format/wal.md", text),
            ("docs/guide.md", "# The Guide: a start\n\n## Two\n\n## Two\n```\n# no heading\n```\n"),
            ("README.md", "# Foliot"),
        ];
        strikes(dead_links, &files).len()
    }

    #[test]
    fn living_links_are_left_alone() {
        let living = "# Wal\n[a](../guide.md) [b](../guide.md#the-guide-a-start) [c](#wal)\n\
                      [d](https://x.org/y.md) [e](../../README.md \"title\") [f](/docs/format/)\n\
                      [g](../guide.md#two-1) `[h](nowhere.md)` [i](mailto:a@b.c) [j](../..)\n\
                      ```\n[k](nowhere.md)\n```\n[l]: ../guide.md\n";
        assert_eq!(strike(living), 0);
    }

    #[test]
    fn dead_links_are_found() {
        for dead in [
            "[a](guide.md)",
            "[a](../guide.md#three)",
            "[a](../guide.md#no-heading)",
            "[a](#nothing)",
            "`code` [a](nowhere)",
            "[a](../../../outside.md)",
            "[a]: nowhere.md",
        ] {
            assert_eq!(strike(dead), 1, "{dead}");
        }
    }
}
