//! Words that may not be written, or not there.

use super::Finding;
use crate::tree::{Tree, room_of};

/// Rooms whose kernels may need it, each block with its reason. Empty: none so far.
const UNSAFE_ROOMS: [&str; 0] = [];
/// Rooms that wait for the network. Everything else is synchronous, so that it can be tested and
/// fuzzed without a runtime.
const ASYNC_ROOMS: [&str; 4] = ["server", "sql", "agent", "bench"];
/// Marks of work put off. In pieces, because this file is checked as well.
const LATER_MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// How a size of this machine gets into bytes that another one reads.
const USIZE_BYTES: [&str; 8] = [
    "usize::from_le_bytes",
    "usize::from_be_bytes",
    "usize::to_le_bytes",
    "asusize).to_le_bytes",
    "asusize).to_be_bytes",
    "len().to_le_bytes",
    "len().to_be_bytes",
    "size_of::<usize>",
];
const VAGUE_FILES: [&str; 7] =
    ["util.rs", "utils.rs", "common.rs", "helpers.rs", "helper.rs", "misc.rs", "types.rs"];

/// Work is done or in the issue tracker, not in the source.
pub(crate) fn later_marks(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            if let Some(mark) = crate::code::words(line).find(|word| LATER_MARKS.contains(word)) {
                let message = format!("{mark}: do it now, or open an issue and leave no mark");
                findings.push(Finding::new(path, index + 1, "later", message));
            }
        }
    }
    findings
}

/// The compiler proves memory safety everywhere.
pub(crate) fn unsafe_code(tree: &Tree) -> Vec<Finding> {
    let message = "unsafe code outside the rooms that tools/xtask names: find a safe way";
    find_word(tree, "unsafe", "unsafe", &UNSAFE_ROOMS, message)
}

/// Only rooms with sockets are asynchronous.
pub(crate) fn async_code(tree: &Tree) -> Vec<Finding> {
    let message = "async code outside server, sql, agent and bench: keep the room synchronous";
    let mut findings = find_word(tree, "async", "async", &ASYNC_ROOMS, message);
    findings.extend(find_word(tree, "await", "async", &ASYNC_ROOMS, message));
    findings
}

/// A test that does not run proves nothing.
pub(crate) fn ignored_tests(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.codes() {
        for (index, line) in code.blanked.lines().enumerate() {
            let squeezed: String = line.split_whitespace().collect();
            if ["#[ignore]", "#[ignore=", ",ignore)]"].iter().any(|mark| squeezed.contains(mark)) {
                let message = "an ignored test proves nothing: mend it or delete it";
                findings.push(Finding::new(path, index + 1, "ignored-test", message));
            }
        }
    }
    findings
}

/// Files must read the same on machines of every width.
pub(crate) fn usize_bytes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.codes() {
        for (line, text) in code.lines() {
            let squeezed: String = text.split_whitespace().collect();
            if USIZE_BYTES.iter().any(|pattern| squeezed.contains(pattern)) {
                let message = "usize differs between machines: convert to u32 or u64 first";
                findings.push(Finding::new(path, line, "usize-bytes", message));
            }
        }
    }
    findings
}

/// A file is named after its one duty.
pub(crate) fn vague_files(tree: &Tree) -> Vec<Finding> {
    let vague = |path: &&str| path.rsplit('/').next().is_some_and(|n| VAGUE_FILES.contains(&n));
    let message = "the name says nothing: move the content to its first user";
    let paths = tree.codes().map(|(path, _)| path).filter(vague);
    paths.map(|path| Finding::new(path, 0, "vague-file", message)).collect()
}

/// Every source file is compiled: some file of its package declares it.
pub(crate) fn orphan_files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.codes() {
        let Some((package, inside)) = path.split_once("/src/") else { continue };
        let module = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        if matches!(module, "lib" | "main") || module.starts_with("bin/") {
            continue;
        }
        let name = module.rsplit('/').next().unwrap_or(module);
        let package = format!("{package}/src/");
        let mut siblings = tree.codes().filter(|(other, _)| other.starts_with(&package));
        let declared = siblings.any(|(_, code)| {
            code.blanked.lines().any(|line| {
                let line = line.trim_end();
                let mut words = crate::code::words(line).skip_while(|word| *word != "mod").skip(1);
                line.ends_with(';') && words.next() == Some(name)
            })
        });
        if !declared {
            let message = format!("no `mod {name};` anywhere: the file is not compiled");
            findings.push(Finding::new(path, 0, "orphan-file", message));
        }
    }
    findings
}

fn find_word(
    tree: &Tree,
    word: &str,
    rule: &'static str,
    rooms: &[&str],
    message: &str,
) -> Vec<Finding> {
    let elsewhere = |path: &str| room_of(path).is_some_and(|room| !rooms.contains(&room));
    let codes = tree.codes().filter(|(path, _)| elsewhere(path));
    let strikes = |(path, code): (&str, &crate::code::Code)| {
        let strike = |line| Finding::new(path, line, rule, message);
        code.find_word(word).map(strike).collect::<Vec<_>>()
    };
    codes.flat_map(strikes).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Rule, strikes};
    use super::*;

    fn strike(rule: Rule, path: &str, text: &str) -> usize {
        strikes(rule, &[(path, text)]).len()
    }

    #[test]
    fn marks_of_later_are_found_in_any_text() {
        for mark in LATER_MARKS {
            assert_eq!(strike(later_marks, "src/a.rs", &format!("// {mark}: x\n")), 1);
            assert_eq!(strike(later_marks, "README.md", &format!("({mark})\n")), 1);
            assert_eq!(strike(later_marks, "README.md", &format!("{mark}S")), 0);
        }
    }

    #[test]
    fn unsafe_is_found_in_code_alone() {
        assert_eq!(strike(unsafe_code, "crates/model/src/a.rs", "unsafe { x() }"), 1);
        assert_eq!(strike(unsafe_code, "tools/sim/src/a.rs", "unsafe fn x() {}"), 1);
        let harmless = "// unsafe\n#![deny(unsafe_code)]\nlet x = \"unsafe\";";
        assert_eq!(strike(unsafe_code, "crates/model/src/a.rs", harmless), 0);
    }

    #[test]
    fn async_is_for_rooms_with_sockets() {
        assert_eq!(strike(async_code, "crates/engine/src/a.rs", "async fn x() {}"), 1);
        assert_eq!(strike(async_code, "crates/engine/src/a.rs", "x().await;"), 1);
        assert_eq!(strike(async_code, "crates/server/src/a.rs", "async fn x() { y().await }"), 0);
    }

    #[test]
    fn ignored_tests_are_found() {
        let attributes = ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(unix, ignore)]"];
        for attribute in attributes {
            let text = format!("#[test]\n{attribute}\nfn x() {{}}");
            assert_eq!(strike(ignored_tests, "crates/model/src/a.rs", &text), 1, "{attribute}");
        }
        assert_eq!(strike(ignored_tests, "crates/model/src/a.rs", "// #[ignore]\n"), 0);
    }

    #[test]
    fn sizes_of_this_machine_stay_out_of_files() {
        let bad = [
            "usize::from_le_bytes(x)",
            "(x as usize).to_le_bytes()",
            "bytes.len().to_le_bytes()",
            "[0; size_of::<usize>()]",
        ];
        for text in bad {
            assert_eq!(strike(usize_bytes, "crates/model/src/a.rs", text), 1, "{text}");
        }
        let good = "(bytes.len() as u64).to_le_bytes(); u32::from_le_bytes(x) as usize";
        assert_eq!(strike(usize_bytes, "crates/model/src/a.rs", good), 0);
    }

    #[test]
    fn files_are_named_after_a_duty() {
        assert_eq!(strike(vague_files, "crates/model/src/utils.rs", ""), 1);
        assert_eq!(strike(vague_files, "crates/model/src/batch.rs", ""), 0);
    }

    #[test]
    fn uncompiled_files_are_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod b;\npub(crate) mod tests;\nmod inline {}"),
            ("crates/a/src/b.rs", ""),
            ("crates/a/src/b/mod.rs", ""),
            ("crates/a/src/tests.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/src/inline.rs", ""),
            ("crates/a/src/lost.rs", ""),
            ("crates/c/src/b.rs", ""),
        ];
        let lost = ["crates/a/src/inline.rs:0", "crates/a/src/lost.rs:0", "crates/c/src/b.rs:0"];
        assert_eq!(strikes(orphan_files, &files), lost);
    }
}
