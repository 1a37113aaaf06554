//! The documents under docs/ as pages of HTML, packed, in a table that the program includes.
//!
//! Pages are told by their paths below docs/, so that the links among them hold. Pictures are left
//! out, and so are links to files that the program has not: decisions, formats and reports are for
//! whoever has the source.

use flate2::{Compression, write::GzEncoder};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

/// Folders of docs/ whose documents are for whoever works on Foliot.
const LEFT_OUT: [&str; 4] = ["benchmarks", "decisions", "format", "images"];

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;\
    padding:0 1rem;color-scheme:light dark}pre,code{font-family:ui-monospace,monospace;\
    font-size:.9em}pre{overflow-x:auto;padding:.75rem;background:color-mix(in srgb,currentColor \
    8%,transparent)}table{border-collapse:collapse;display:block;overflow-x:auto}\
    th,td{border:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.3rem .6rem;\
    text-align:left;vertical-align:top}nav{margin-bottom:2rem}";

/// Writes the pages and their table, `documents.rs`, where Cargo wants what is made.
pub(crate) fn write() -> io::Result<()> {
    let variable = |name: &str| {
        env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name.to_owned()))
    };
    let docs = variable("CARGO_MANIFEST_DIR")?.join("../../docs").canonicalize()?;
    println!("cargo:rerun-if-changed={}", docs.display());
    let out = variable("OUT_DIR")?;
    let mut texts = BTreeMap::new();
    read(&docs, "", &mut texts)?;
    let mut table = "&[\n".to_owned();
    for (at, (path, text)) in texts.iter().enumerate() {
        let file = out.join(format!("page-{at}.gz"));
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(page(path, text, &texts).as_bytes())?;
        fs::write(&file, packed.finish()?)?;
        table += &format!("    ({path:?}, include_bytes!({file:?})),\n");
    }
    fs::write(out.join("documents.rs"), table + "]\n")
}

/// Reads the documents of a folder and of those in it.
fn read(folder: &Path, within: &str, texts: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !LEFT_OUT.contains(&&*name) {
            read(&path, &format!("{within}{name}/"), texts)?;
        } else if name.ends_with(".md") {
            texts.insert(format!("{within}{name}"), fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// A document as a page.
fn page(path: &str, text: &str, all: &BTreeMap<String, String>) -> String {
    let mut options = Options::ENABLE_TABLES;
    options.insert(Options::ENABLE_STRIKETHROUGH);
    let events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
    let title = heading(&events, 0);
    let mut body = String::new();
    html::push_html(&mut body, told(events, path, all).into_iter());
    let root = "../".repeat(path.matches('/').count());
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content=\"width=device-width\"><title>{} · Foliot</title><style>{STYLE}</style>\
         <nav><a href=\"{root}../\">Foliot</a> · <a href=\"{root}README.md\">Documents</a></nav><main>{body}</main></html>\n",
        title.replace('&', "&amp;").replace('<', "&lt;")
    )
}

/// The text of the first heading from a place on.
fn heading(events: &[Event<'_>], from: usize) -> String {
    let of = events.iter().skip(from);
    let of = of.skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })));
    let of = of.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let text = |event: &Event<'_>| match event {
        Event::Text(text) | Event::Code(text) => text.to_string(),
        _ => String::new(),
    };
    of.map(text).collect()
}

/// What is said, with headings that can be linked to, without pictures and links that lead nowhere.
fn told<'a>(events: Vec<Event<'a>>, path: &str, all: &BTreeMap<String, String>) -> Vec<Event<'a>> {
    let (mut told, mut links) = (Vec::new(), Vec::new());
    for (at, event) in events.iter().enumerate() {
        let event = event.clone();
        match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = Some(CowStr::from(anchor(&heading(&events, at))));
                told.push(Event::Start(Tag::Heading { level, id, classes, attrs }));
            }
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => {}
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                links.push(leads(dest_url, path, all));
                told.extend(links.last().and_then(|leads| leads.then_some(event)));
            }
            Event::End(TagEnd::Link) => {
                told.extend(links.pop().and_then(|leads| leads.then_some(event)));
            }
            event => told.push(event),
        }
    }
    told
}

/// Whether a link on a page leads to another, to a place of its own, or elsewhere.
fn leads(link: &str, path: &str, all: &BTreeMap<String, String>) -> bool {
    let file = link.split('#').next().unwrap_or_default();
    if file.is_empty() || file.contains("://") {
        return true;
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir if parts.pop().is_none() => return false,
            Component::Normal(name) => parts.extend(name.to_str()),
            _ => {}
        }
    }
    all.contains_key(&parts.join("/"))
}

/// What a heading is linked to by, as the places have it where these documents are read otherwise.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let dashed = |c: char| if c == ' ' { '-' } else { c };
    heading.to_lowercase().chars().filter(kept).map(dashed).collect()
}
