//! The report as one HTML page: style, tables and plots inside, nothing to fetch, readable in
//! light and dark and on paper.

use std::fmt::Write as _;

use super::data::{NO_VERDICT, Plot, Report, Section, Table, TableRow};
use super::svg::{colour, escaped, svg};

const STYLE: &str = "\
:root{--ink:#1c2330;--soft:#5b6576;--faint:#e4e8ee;--page:#fbfcfd;--card:#fff;--good:#1a7f4b;\
--bad:#c0362c;--c0:#1f6feb;--c1:#e8590c;--c2:#2b8a3e;--c3:#9c36b5;--c4:#c2255c;--c5:#0b7285;\
--c6:#a67c00;--c7:#495057}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b5;--faint:#2c333f;\
--page:#14181f;--card:#1b212a;--good:#4cc38a;--bad:#ff7a70;--c0:#6ea8fe;--c1:#ff9a5c;--c2:#69db7c;\
--c3:#da77f2;--c4:#f783ac;--c5:#66d9e8;--c6:#ffd43b;--c7:#ced4da}}\
*{box-sizing:border-box}\
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 system-ui,sans-serif}\
main{max-width:1320px;margin:0 auto;padding:40px 20px 80px}\
h1{font-size:30px;line-height:1.2;margin:0 0 8px;letter-spacing:-.01em}\
h2{font-size:20px;margin:44px 0 10px}\
p{margin:8px 0;max-width:84ch;overflow-wrap:anywhere}\
ul.summary{columns:1;font-size:15px;color:var(--ink);max-width:84ch}\
ul{margin:8px 0;padding-left:18px;font-size:13px;line-height:1.45;color:var(--soft);\
overflow-wrap:anywhere;columns:2 420px;column-gap:36px}li{break-inside:avoid}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:0 20px}\
code{display:block;background:var(--card);border:1px solid var(--faint);border-radius:8px;\
padding:10px 14px;overflow-x:auto;font:13px/1.5 ui-monospace,monospace;white-space:pre}\
.badge{display:inline-block;border-radius:14px;padding:2px 12px;font-weight:600;color:#fff;\
background:var(--good)}.badge.bad{background:var(--bad)}.badge.peer{background:var(--soft)}\
.facts{color:var(--soft);font-size:13px}\
figure{margin:20px 0;background:var(--card);border:1px solid var(--faint);border-radius:12px;\
padding:14px 16px;min-width:0;overflow-x:auto;break-inside:avoid}\
figcaption{font-weight:600;margin-bottom:8px}\
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}\
th,td{padding:6px 8px;text-align:right;border-bottom:1px solid var(--faint);white-space:nowrap}\
th{color:var(--soft);font-weight:600;border-bottom-width:2px;white-space:normal;\
vertical-align:bottom}\
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--card)}\
tr.reference td{color:var(--soft);font-style:italic}\
tr.void td{color:var(--soft)}.why{text-align:left!important;white-space:normal!important;min-width:260px}\
.words{text-align:left!important;white-space:normal!important;min-width:150px}\
.source{display:block;font-size:11px}\
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft)}\
.key{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}\
svg{width:100%;height:auto;display:block}\
.grid{stroke:var(--faint)}.tick,.axis,.value{fill:var(--soft);font-size:12px}\
.range{fill:none;stroke:var(--ink);stroke-width:1.2}\
.value{font-size:11px}.line{fill:none;stroke-width:2;stroke-linejoin:round}\
@media(max-width:600px){main{padding:20px 12px 48px}h1{font-size:24px}figure{padding:10px}\
code{white-space:pre-wrap;overflow-wrap:anywhere}}\
@media print{body{background:#fff}figure{border-color:#ccc}}";

/// Letters of a cell above which it holds words, which are broken into lines, and no number.
const WORDS_MIN: usize = 40;

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">",
    );
    let _ = write!(out, "<title>{}</title><style>{STYLE}", escaped(&report.title));
    for at in 0..8 {
        let _ = write!(
            out,
            ".line.c{at}{{stroke:var(--c{at})}}.dot.c{at},.bar.c{at}{{fill:var(--c{at})}}\
             .key.c{at}{{background:var(--c{at})}}"
        );
    }
    let (class, verdict) = badge(report);
    let summary = report.summary();
    let summary: String =
        summary.iter().map(|words| format!("<li>{}</li>", escaped(words))).collect();
    let _ = write!(
        out,
        "</style></head><body><main><h1>{}</h1>\
         <p><span class=\"{class}\">{}</span></p><ul class=\"summary\">{summary}</ul>\
         <code>{}</code><p class=\"facts\">",
        escaped(&report.title),
        escaped(&verdict),
        escaped(&report.command)
    );
    let facts = report.machine.iter().map(|(name, value)| format!("{name}: {value}"));
    let facts: Vec<String> = facts.collect();
    let _ =
        write!(out, "{}<br>bench {}</p>", escaped(&facts.join(" \u{b7} ")), report.tool_version);
    for section in &report.sections {
        write_section(section, &mut out);
    }
    out.push_str("</main></body></html>\n");
    out
}

/// What is said at the top, and how it looks: a peer's fault is none of the server under test.
fn badge(report: &Report) -> (&'static str, String) {
    let names: Vec<&str> = report.at_fault.iter().map(String::as_str).collect();
    let names = names.join(", ");
    // The same server at another durability is the same server.
    let server = |name: &str| name.split(" (").next().unwrap_or_default().to_owned();
    let is_own = |name: &String| server(name) == server(&report.subject);
    match (report.right, report.at_fault.iter().any(is_own), names.is_empty()) {
        (true, ..) => ("badge", "every checked answer was right".to_owned()),
        (false, _, true) => ("badge bad", "something was refused or wrong: see below".to_owned()),
        (false, true, _) => ("badge bad", format!("refused or wrong: {names}")),
        (false, false, _) => {
            let subject = &report.subject;
            (
                "badge peer",
                format!("{subject}: every checked answer right; refused or wrong: {names}"),
            )
        }
    }
}

fn write_section(section: &Section, out: &mut String) {
    let _ = write!(out, "<h2>{}</h2>", escaped(&section.heading));
    // The first words say what was done, those after it what came of single loads.
    if let Some((first, notes)) = section.words.split_first() {
        let _ = write!(out, "<p>{}</p>", escaped(first));
        let notes: String =
            notes.iter().map(|note| format!("<li>{}</li>", escaped(note))).collect();
        let _ = if notes.is_empty() { Ok(()) } else { write!(out, "<ul>{notes}</ul>") };
    }
    section.tables.iter().for_each(|table| write_table(table, out));
    out.push_str("<div class=\"plots\">");
    section.plots.iter().for_each(|plot| write_plot(plot, out));
    out.push_str("</div>");
}

fn write_table(table: &Table, out: &mut String) {
    let _ = write!(out, "<figure><figcaption>{}</figcaption><table><tr>", escaped(&table.name));
    let is_long = |row: &TableRow, at: usize| {
        row.cells.get(at).is_some_and(|cell| cell.chars().count() > WORDS_MIN)
    };
    let prose = |at: usize| table.rows.iter().any(|row| is_long(row, at));
    let classes: Vec<&str> = (0..table.columns.len())
        .map(|at| if prose(at) { " class=\"words\"" } else { "" })
        .collect();
    for (column, class) in table.columns.iter().zip(&classes) {
        let _ = write!(out, "<th{class}>{}</th>", escaped(column));
    }
    let has_void = table.has_void();
    if has_void {
        let _ = write!(out, "<th class=\"why\">{NO_VERDICT}</th>");
    }
    out.push_str("</tr>");
    for row in &table.rows {
        let class = match (&row.source, &row.void) {
            (Some(_), _) => " class=\"reference\"",
            (None, Some(_)) => " class=\"void\"",
            (None, None) => "",
        };
        let _ = write!(out, "<tr{class}>");
        for (at, (cell, class)) in row.cells.iter().zip(&classes).enumerate() {
            let _ = write!(out, "<td{class}>{}", escaped(cell));
            if let (0, Some(source)) = (at, &row.source) {
                let _ = write!(out, " <span class=\"source\">({})</span>", escaped(source));
            }
            out.push_str("</td>");
        }
        if has_void {
            let why = row.void.as_deref().unwrap_or_default();
            let _ = write!(out, "<td class=\"why\">{}</td>", escaped(why));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></figure>");
}

fn write_plot(plot: &Plot, out: &mut String) {
    let _ = write!(
        out,
        "<figure><figcaption>{}</figcaption>{}<div class=\"legend\">",
        escaped(&plot.title),
        svg(plot)
    );
    for (at, line) in plot.lines.iter().enumerate() {
        let name = escaped(&line.name);
        let _ = write!(out, "<span><span class=\"key {}\"></span>{name}</span>", colour(at));
    }
    out.push_str("</div></figure>");
}
