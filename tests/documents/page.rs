//! A page, taken apart into its fenced blocks.
//!
//! The words behind a block's language, which readers do not see, say what it is:
//!
//! - `sh run` is typed;
//! - `sh needs=WORD` is not, because it needs something that is not in this repository;
//! - `shows`, behind any language, is what the block before prints. Its lines, and the pieces of a
//!   line that `…` divides, stand in the output in this order.

/// A fenced block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Line of its fence.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) mark: String,
    pub(crate) text: String,
}

/// The blocks of a page.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(info), None) => {
                let (language, mark) = info.split_once(' ').unwrap_or((info, ""));
                let (language, mark) = (language.to_owned(), mark.to_owned());
                open = Some(Block { line: index + 1, language, mark, text: String::new() });
            }
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// What is wrong with the marks of a page's blocks.
pub(crate) fn unmarked(blocks: &[Block]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut before = None;
    for block in blocks {
        let told = match (block.language.as_str(), block.mark.as_str()) {
            ("", _) => Some("has no language"),
            ("sh", mark) if mark != "run" && !mark.starts_with("needs=") => {
                Some("does not say whether it can be typed: `sh run` or `sh needs=WORD`")
            }
            (_, "shows") if before != Some("run") => Some("shows what no `sh run` printed"),
            _ => None,
        };
        wrong.extend(told.map(|told| format!("the block in line {} {told}", block.line)));
        before = Some(block.mark.as_str());
    }
    wrong
}

pub(crate) fn blocks_are_read() {
    let page =
        "# A\n```sh run\none\ntwo\n```\ntext\n```json shows\n{}\n```\n```\nx\n```\n```sh\n```\n";
    let found = blocks(page);
    let told: Vec<_> = found.iter().map(|b| (b.line, &*b.language, &*b.mark, &*b.text)).collect();
    let expected = [
        (2, "sh", "run", "one\ntwo\n"),
        (7, "json", "shows", "{}\n"),
        (10, "", "", "x\n"),
        (13, "sh", "", ""),
    ];
    assert_eq!(told, expected);
    let wrong = unmarked(&found);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].contains("line 10") && wrong[1].contains("line 13"), "{wrong:?}");
    assert_eq!(unmarked(&blocks("```text shows\n```\n")).len(), 1);
}
